import { createHash } from 'node:crypto';

/** The fields read from Stryker's mutants. */
export interface Mutant {
  id: string;
  fileName: string;
  mutatorName: string;
  replacement: string;
  location: { start: { line: number; column: number }; end: { line: number; column: number } };
}

export interface SampleOptions {
  /** The directory that file names are relative to, so that a sample does not depend on the sandbox's location. */
  root: string;
  seed: number;
  /** The share of mutants to test, from 0 to 1. */
  rate: number;
  /** If given, only mutants with these keys. */
  only?: readonly string[];
}

/** Identifies a mutant in the same way in every run on the same source. */
export function toMutantKey(root: string, { fileName, mutatorName, replacement, location }: Mutant): string {
  const { start, end } = location;
  const file = fileName.startsWith(`${root}/`) ? fileName.slice(root.length + 1) : fileName;
  return `${file}:${start.line}:${start.column}-${end.line}:${end.column} ${mutatorName} ${replacement}`;
}

/**
 * True if the mutant belongs to the sample. Its hash decides, so the sample does not depend on the order of mutants.
 */
export function isSampled(key: string, { seed, rate, only }: Omit<SampleOptions, 'root'>): boolean {
  if (only !== undefined) return only.includes(key);
  const hash = createHash('sha256').update(`${seed} ${key}`).digest().readUInt32BE(0);
  return hash / 2 ** 32 < rate;
}

/**
 * A Stryker checker that lets only the sampled mutants be tested. Stryker has no sampling, so it hears that the others
 * do not compile, so that they count neither for nor against the score.
 */
class SampleChecker {
  static readonly inject = ['options'] as const;
  readonly #options: SampleOptions;

  constructor(options: { sample: SampleOptions }) {
    this.#options = options.sample;
  }

  async init(): Promise<void> {}

  async check(mutants: readonly Mutant[]): Promise<Record<string, { status: string; reason?: string }>> {
    const { root, ...sample } = this.#options;
    return Object.fromEntries(
      mutants.map((mutant) => [
        mutant.id,
        isSampled(toMutantKey(root, mutant), sample)
          ? { status: 'passed' }
          : { status: 'compileError', reason: 'not in the sample' },
      ]),
    );
  }
}

export const strykerPlugins = [{ kind: 'Checker', name: 'sample', injectableClass: SampleChecker }];
