import type { WorkStep } from '../records/work-step.ts';

/** Purposes of a turn. `conversation` is an answer without a call, `unknown` one that no rule knows, or whose calls are hidden. */
export const KINDS_OF_WORK = [
  'coding',
  'debugging',
  'testing',
  'review',
  'planning',
  'exploring',
  'operations',
  'conversation',
  'unknown',
] as const;
export type KindOfWork = (typeof KINDS_OF_WORK)[number];

/** The facts of a turn that the rule needs. */
export interface TurnSteps {
  /** Number of its calls by step. */
  steps: ReadonlyMap<WorkStep, number>;
  /** A test or program failed before the first edit. */
  isFixed: boolean;
}

/** Decides by the strongest step; see docs/accuracy.md. */
export function toKindOfWork({ steps, isFixed }: TurnSteps): KindOfWork {
  if (steps.size === 0) return 'conversation';
  if (steps.has('hidden')) return 'unknown';
  if (isFixed) return 'debugging';
  const isMostlyLooking = (steps.get('look') ?? 0) > MAX_LOOKS_PER_RUN * (steps.get('run') ?? 0);
  const strongest = ORDER.find(([step]) => steps.has(step) && !(step === 'run' && isMostlyLooking));
  return strongest?.[1] ?? 'unknown';
}

/** Programs that run among more looks than this are part of the looking. */
const MAX_LOOKS_PER_RUN = 2;

const ORDER: readonly [step: WorkStep, kind: KindOfWork][] = [
  ['edit-code', 'coding'],
  ['edit-test', 'testing'],
  ['commit', 'operations'],
  ['edit-plan', 'planning'],
  ['edit-text', 'coding'],
  ['test', 'testing'],
  ['review', 'review'],
  ['operate', 'operations'],
  ['run', 'operations'],
  ['plan', 'planning'],
  ['look', 'exploring'],
];
