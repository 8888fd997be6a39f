import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { DeliveryError } from '@recount/collect/delivery-error';
import type { FollowedEvent } from '@recount/contract';
import { createBackoff, type Pauses } from '@recount/service/retry';
import { createParser } from 'eventsource-parser';
import { CliError, UsageError } from '../terminal/cli-error.ts';

/** An event with its id. A reader can continue after it. */
interface NumberedEvent {
  id: string | undefined;
  event: FollowedEvent;
}

/**
 * Parses a session's events as the API sends them (`text/event-stream`). An incomplete event at the end of the answer is
 * dropped.
 */
export async function* readFollowedEvents(answer: Readable): AsyncGenerator<NumberedEvent> {
  const events: NumberedEvent[] = [];
  const parser = createParser({ onEvent: ({ id, data }) => events.push({ id, event: JSON.parse(data) }) });
  for await (const text of answer.setEncoding('utf8')) {
    parser.feed(text);
    yield* events.splice(0);
  }
}

/** The API, as followers of a session use it. */
export interface FollowedApi {
  /** Opens the events of a session after one of them. */
  open(sessionId: string, lastEventId: string | undefined): Promise<Readable>;
  /** True if a stream of the session runs. */
  isRunning(sessionId: string): Promise<boolean>;
}

interface FollowOptions {
  signal: AbortSignal;
  /** Called before each pause; without an error if the server ended the answer. */
  onPause(error: Error | undefined, pauseMs: number): void;
  pauses?: Pauses;
}

const PAUSES: Pauses = { firstMs: 1000, longestMs: 30_000, isRandom: true };

/**
 * The events of a session, each once, until its streams have ended. Connects again, after the last event that came, when
 * the server ends the answer before, because it stops or what the reader may see has changed, and when the connection
 * breaks. Throws CliError if the reader is refused then.
 */
export async function* followSession(
  api: FollowedApi,
  sessionId: string,
  { signal, onPause, pauses = PAUSES }: FollowOptions,
): AsyncGenerator<FollowedEvent> {
  const backoff = createBackoff(pauses);
  // A stream that names its session continues there.
  let place: { sessionId: string; lastEventId?: string | undefined } = { sessionId };
  let isOver = false;
  let answer: Readable | undefined = await api.open(sessionId, undefined);
  for (;;) {
    let failure: Error | undefined;
    try {
      answer ??= await api.open(place.sessionId, place.lastEventId);
      let count = 0;
      for await (const { id, event } of readFollowedEvents(answer)) {
        place = { sessionId: event.session_id, lastEventId: id ?? place.lastEventId };
        backoff.reset();
        count += 1;
        yield event;
      }
      // All its events were there before this answer began.
      if (isOver && count === 0) return;
      isOver = !(await api.isRunning(place.sessionId));
    } catch (error) {
      signal.throwIfAborted();
      failure = requirePassing(error as Error);
    }
    answer = undefined;
    if (isOver && failure === undefined) continue;
    const pauseMs = backoff.next();
    onPause(failure, pauseMs);
    await sleep(pauseMs, undefined, { signal });
  }
}

/** Returns an error that may pass. Throws CliError for a refusal. */
function requirePassing(error: Error): Error {
  if (error instanceof DeliveryError && error.code !== 'unavailable')
    throw new CliError(`The server no longer shows you this session. ${error.message}`, { cause: error });
  if (error instanceof CliError)
    throw new CliError('The server no longer has this session, or no longer shows it to you.', { cause: error });
  if (error instanceof SyntaxError || error instanceof UsageError) throw error;
  return error;
}
