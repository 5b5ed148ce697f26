"""What attackers cost others: the parts of `bench/attacks`."""
