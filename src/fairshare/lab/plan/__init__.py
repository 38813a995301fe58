"""What a changed configuration would have done to a server's own history."""
