import fc from 'fast-check';

// If a run takes a database a second, shrinking a counterexample takes longer than the test may, and the report would
// be a timeout. The reported seed and path reproduce it.
fc.configureGlobal({ endOnFailure: true });
