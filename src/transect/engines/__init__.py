"""Where the parts of a run are made: in this process, in processes of this machine, or on a Ray cluster."""
