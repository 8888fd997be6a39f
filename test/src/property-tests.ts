import fc from 'fast-check';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    propertyTests: PropertyTests;
  }
}

/** For all property tests of a project, which set no number of runs . */
export interface PropertyTests {
  numRuns: number;
  seed: number;
  /**
   * If a run takes a database a second, shrinking a counterexample takes longer than the test may, and the report would
   * be a timeout. The reported seed and path reproduce it.
   */
  endOnFailure: boolean;
}

fc.configureGlobal(inject('propertyTests'));
