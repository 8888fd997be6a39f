import { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';
import { claudeCodeProgram } from '../agents/claude-code/agent.ts';
import type { LiveLineDecoderOptions } from './live-line-decoder.ts';
import { createLiveReader } from './live-reader.ts';
import type {
  AssistantEvent,
  GenericEvent,
  InitEvent,
  PromptEvent,
  ResultEvent,
  StreamEvent,
  ToolResultEvent,
  UserEvent,
  WarningEvent,
} from './stream-event.ts';
import { type ByteReader, createByteReader } from './stream-reader.ts';
import type { StreamSummary } from './stream-summary.ts';

/** Hands values to an async iterator, in order, as it asks for them. */
interface EventQueue<T> {
  push(value: T): void;
  /** No more will come. */
  end(): void;
  /** Values that wait to be asked for. */
  readonly size: number;
  readonly iterator: AsyncIterableIterator<T>;
}

/** `onShift` is called after a value was taken, `onReturn` when the iterator is left early. */
function createEventQueue<T>(onShift: () => void, onReturn: () => void): EventQueue<T> {
  let values: T[] = [];
  let start = 0;
  let isEnded = false;
  let wake: () => void = () => {};

  const shift = (): T | undefined => {
    const value = values[start++];
    // Moved now and then: `shift` of a long array would move it every time.
    if (start * 2 > values.length) {
      values = values.slice(start);
      start = 0;
    }
    return value;
  };

  async function* iterate(): AsyncGenerator<T> {
    try {
      for (;;) {
        while (values.length > start) {
          const value = shift() as T;
          onShift();
          yield value;
        }
        if (isEnded) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      onReturn();
    }
  }

  return {
    push(value) {
      values.push(value);
      wake();
    },
    end() {
      isEnded = true;
      wake();
    },
    get size() {
      return values.length - start;
    },
    iterator: iterate(),
  };
}

export interface StreamParserOptions extends LiveLineDecoderOptions {
  /** The caller's own id of the session. */
  sessionId: string;
  /** Bytes of `claude -p --output-format stream-json`, or text. Read at once; never written to. */
  source: Readable;
  /** The time, in milliseconds since 1970. */
  now: () => number;
  /** Called once with the agent's id of the session, from its first init line. */
  onSessionIdCaptured?: ((agentSessionId: string) => void) | undefined;
}

/** The source failed; the stream is read up to there. */
export interface ErrorEvent {
  type: 'error';
  error: Error;
}

/** The last event, always. */
export interface CloseEvent {
  type: 'close';
  summary: StreamSummary;
  /** Why the source failed, or null. */
  error: Error | null;
}

export type ParserEvent = StreamEvent | ErrorEvent | CloseEvent;

export interface StreamParserEvents {
  init: [InitEvent];
  user: [UserEvent];
  assistant: [AssistantEvent];
  tool_result: [ToolResultEvent];
  result: [ResultEvent];
  prompt: [PromptEvent];
  generic: [GenericEvent];
  warning: [WarningEvent];
  error: [ErrorEvent];
  close: [CloseEvent];
}

/** `sending` until the first line, then `streaming`; in the end `complete`, or `error` where source or result failed. */
export type StreamState = 'sending' | 'streaming' | 'complete' | 'error';

/**
 * A running agent's stream as events: listen to those of interest, or iterate over all of them. An iterator gives the
 * events from when it was made on, up to `close`; while it lags behind, the source is paused. Reading starts after the
 * caller's synchronous code, so that listeners set at once miss nothing. An `error` without a listener is told by
 * `close` alone.
 */
export interface StreamParser extends EventEmitter<StreamParserEvents>, AsyncIterable<ParserEvent> {
  readonly sessionId: string;
  readonly state: StreamState;
  /** The figures so far; after `close`, the last. */
  toSummary(): StreamSummary;
}

/** Events that wait for an iterator before the source is paused; one chunk of the source may go beyond. */
const MAX_WAITING_EVENTS = 256;
/** So often the reader is asked for what has waited long enough. */
const POLL_MS = 500;

export function createStreamParser(options: StreamParserOptions): StreamParser {
  return new ReadableStreamParser(options);
}

class ReadableStreamParser extends EventEmitter<StreamParserEvents> implements StreamParser {
  readonly sessionId: string;
  readonly #source: Readable;
  readonly #reader: ByteReader<StreamEvent>;
  readonly #queues = new Set<EventQueue<ParserEvent>>();
  #onSessionIdCaptured: StreamParserOptions['onSessionIdCaptured'];
  #state: StreamState = 'sending';
  #isPaused = false;
  #isClosed = false;
  #poll: NodeJS.Timeout | undefined;

  constructor(options: StreamParserOptions) {
    super();
    this.sessionId = options.sessionId;
    this.#source = options.source;
    this.#onSessionIdCaptured = options.onSessionIdCaptured;
    this.#reader = createByteReader(createLiveReader(claudeCodeProgram, options.now), options);
    this.#source.on('error', (error) => this.#close(error));
    this.#source.on('end', () => this.#close(null));
    this.#source.on('close', () => this.#close(null));
    queueMicrotask(() => this.#start());
  }

  get state(): StreamState {
    return this.#state;
  }

  toSummary(): StreamSummary {
    return this.#reader.toSummary();
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<ParserEvent> {
    const queue = createEventQueue<ParserEvent>(
      () => this.#resume(),
      () => {
        this.#queues.delete(queue);
        this.#resume();
      },
    );
    if (this.#isClosed) queue.end();
    else this.#queues.add(queue);
    return queue.iterator;
  }

  #start(): void {
    this.#source.on('data', (chunk: Uint8Array | string) => this.#giveAll(this.#reader.push(chunk)));
    this.#poll = setInterval(() => this.#giveAll(this.#reader.poll()), POLL_MS);
    this.#poll.unref();
    // Such a source says no more.
    if (this.#source.destroyed || this.#source.readableEnded) this.#close(this.#source.errored);
  }

  #resume(): void {
    if (!this.#isPaused || [...this.#queues].some((queue) => queue.size > 0)) return;
    this.#isPaused = false;
    this.#source.resume();
  }

  #giveAll(events: readonly StreamEvent[]): void {
    if (this.#state === 'sending' && this.#reader.toSummary().lineCount > 0) this.#state = 'streaming';
    for (const event of events) {
      if (event.type === 'init' && event.sessionId !== '') {
        this.#onSessionIdCaptured?.(event.sessionId);
        this.#onSessionIdCaptured = undefined;
      }
      this.#give(event);
    }
    if (this.#isPaused || ![...this.#queues].some((queue) => queue.size > MAX_WAITING_EVENTS)) return;
    this.#isPaused = true;
    this.#source.pause();
  }

  #give(event: ParserEvent): void {
    for (const queue of this.#queues) queue.push(event);
    // Node would throw an `error` that nobody listens to.
    if (event.type !== 'error' || this.listenerCount('error') > 0) this.emit(event.type, event as never);
  }

  #close(error: Error | null): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#poll);
    this.#giveAll(this.#reader.finish());
    const summary = this.toSummary();
    this.#state = error !== null || summary.lastResult?.success === false ? 'error' : 'complete';
    if (error !== null) this.#give({ type: 'error', error });
    this.#give({ type: 'close', summary, error });
    for (const queue of this.#queues) queue.end();
  }
}
