import type { WorkStep } from '../records/work-step.ts';
import { type KindOfWork, toKindOfWork } from './kind-of-work.ts';

/** The turn that the lines so far end in. */
export interface TurnState {
  /** Line of its prompt; 0 before the first one. */
  line: number;
  timestamp: string | null;
  /** True once the agent has answered. */
  isAnswered: boolean;
  steps: Map<WorkStep, number>;
  /** A test or program has failed before any file was edited. */
  hasFailed: boolean;
  isEdited: boolean;
  isFixed: boolean;
}

/** A turn with an answer, once the next one begins or the transcript ends. */
export interface EndedTurn {
  line: number;
  timestamp: string | null;
  kind: KindOfWork;
}

export const createTurnState = (): TurnState => ({
  line: 0,
  timestamp: null,
  isAnswered: false,
  steps: new Map(),
  hasFailed: false,
  isEdited: false,
  isFixed: false,
});

/** Follows the turns of a transcript, from one prompt to the next; a line begins one turn at most. */
export class Turns {
  readonly #state: TurnState;

  constructor(state: TurnState) {
    this.#state = state;
  }

  get line(): number {
    return this.#state.line;
  }

  begin(line: number, timestamp: string | null): EndedTurn | undefined {
    if (line === this.#state.line) return undefined;
    const ended = this.end();
    Object.assign(this.#state, createTurnState(), { line, timestamp });
    return ended;
  }

  end(): EndedTurn | undefined {
    const { line, timestamp, isAnswered } = this.#state;
    return isAnswered ? { line, timestamp, kind: toKindOfWork(this.#state) } : undefined;
  }

  addAnswer(): void {
    this.#state.isAnswered = true;
  }

  addStep(step: WorkStep): void {
    const { steps } = this.#state;
    steps.set(step, (steps.get(step) ?? 0) + 1);
    if (!step.startsWith('edit-')) return;
    this.#state.isEdited = true;
    if (this.#state.hasFailed) this.#state.isFixed = true;
  }

  addFailure(step: WorkStep): void {
    if (!this.#state.isEdited && (step === 'test' || step === 'run')) this.#state.hasFailed = true;
  }
}
