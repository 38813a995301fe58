"""What users of a shared machine found wrong when they tried fairshare, each tried again."""
