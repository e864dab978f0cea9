"""What people type and read in a terminal. No private levers: it labels and comments like anyone else."""
