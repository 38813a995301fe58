"""Ray's job interface (`/api/jobs/`): Ray's own command line and client submit jobs to queues."""
