import fc from 'fast-check';

// Where a run takes a database a second, looking for a smaller counterexample takes longer than the test may, and the
// report would be of a timeout. The seed and path that are reported find it again.
fc.configureGlobal({ endOnFailure: true });
