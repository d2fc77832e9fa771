"""What people saw on the images of a run, and rules by which images are left out."""
