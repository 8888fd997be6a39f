import type { RunCommand } from './run-command.ts';

/** Counts the tests of a vitest run; every other check counts as one. */
export interface CheckResult {
  passed: number;
  failed: number;
  skipped: number;
  /** The output of a check that runs beside the tests. */
  output?: string;
  /** The failures, for the end of the log, which is what a CI service shows first. */
  failures?: string[];
  notes?: string[];
}

export interface CheckDeps {
  /** The root of the repository. */
  root: string;
  runCommand: RunCommand;
}

export interface Check {
  name: string;
  title: string;
  /** It runs beside the tests. */
  isStatic?: boolean;
  run(deps: CheckDeps): Promise<CheckResult>;
}
