"""FaceWorld, the world that ships: exogenous noise ► attributes through a population ► a face. See world.py."""
