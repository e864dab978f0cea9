"""How any service is dealt with: its clock, a credential it refuses, whether it is open to us, and our seal."""
