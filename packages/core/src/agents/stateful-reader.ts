import type { JsonObject } from '../lines/json.ts';
import type { Reader, ReaderContext, ReaderLine, ReadLine } from './agent.ts';

/** A reader that keeps its context, and the state that it carries from line to line. */
export abstract class StatefulReader<State> implements Reader {
  readonly state: State;
  protected readonly context: ReaderContext;

  constructor(context: ReaderContext, state: State) {
    this.context = context;
    this.state = state;
  }

  abstract read(value: JsonObject, line: ReaderLine): ReadLine;
}
