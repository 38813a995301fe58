"""Everything that the rest of fairshare knows of a particular scheduler, one package for each."""
