"""What a comparison reads: jobs, both reads of their tensors, and what is kept of a read that was stopped."""
