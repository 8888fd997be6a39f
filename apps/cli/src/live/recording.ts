import { setTimeout as sleep } from 'node:timers/promises';
import { DeliveryError } from '@recount/collect/delivery-error';
import { ulid } from 'ulid';
import { formatBytes } from '../terminal/format-values.ts';
import { flushSpool } from './flush-spool.ts';
import { type RecordTarget, toTargetName } from './record-target.ts';
import { FRESH, sendStream } from './send/send-stream.ts';
import { toSessionName } from './send/session-name.ts';
import { removeFromSpool, type SpoolNote, type StreamEnd, writeSpoolNote } from './spool/spool-folder.ts';
import { createSpoolWriter, type SpoolWriter } from './spool/spool-writer.ts';

/** Records a running agent's stream. Its methods never reject, and only `close` waits for the network. */
export interface Recording {
  /** Resolves when the bytes are in the spool. */
  write(chunk: Uint8Array): Promise<void>;
  /** Sets the agent's own id of the session; only the first call counts. */
  nameSession(agentSessionId: string): void;
  /** Sends the rest, for a few seconds at most; unsent bytes stay in the spool. */
  close(end: StreamEnd | null): Promise<void>;
}

interface RecordingOptions {
  /** The spool's folder. */
  folder: string;
  maxSpoolBytes: number;
  target: RecordTarget;
  /** Id of the agent. */
  agent: string;
  sourceFormat: string;
  isVerbose: boolean;
  /** Shows a line to the user. */
  tell: (line: string) => void;
}

/** Most streams name their session in the first line. One that has not done so by then is sent under its own id. */
const NAME_DELAY_MS = 250;
/** The time that the end of a run may wait for the rest of its stream to be sent. */
const DRAIN_MS = 5000;

/**
 * Begins a recording, and sends what earlier ones left in the background. If nothing can be recorded, says so and
 * returns undefined.
 */
export async function startRecording(options: RecordingOptions): Promise<Recording | undefined> {
  const { folder, maxSpoolBytes, target, agent, sourceFormat, tell } = options;
  const streamId = ulid();
  const { spoolTarget } = target;
  const note: SpoolNote = {
    streamId,
    sentAs: streamId,
    agent,
    sourceFormat,
    sessionId: null,
    target: spoolTarget,
    end: null,
    refusal: null,
  };
  try {
    const writer = await createSpoolWriter(folder, maxSpoolBytes, note);
    return createRecording(writer, options);
  } catch (error) {
    tell(`not recorded: ${folder} cannot be written (${toReason(error)})`);
    return undefined;
  }
}

function createRecording(writer: SpoolWriter, { folder, target, isVerbose, tell }: RecordingOptions): Recording {
  const aborting = new AbortController();
  const { signal } = aborting;
  let isBroken = false;
  const stopWriting = (error: unknown): void => {
    if (!isBroken) tell(`the recording stops here (${toReason(error)}); the agent continues`);
    isBroken = true;
  };

  let sending: Promise<SendOutcome> | undefined;
  const begin = (): void => {
    clearTimeout(nameTimer);
    sending ??= sendInBackground(writer, target, tell, signal);
  };
  let nameTimer: NodeJS.Timeout | undefined;
  const flushing = flushInBackground(folder, target, tell, signal);

  return {
    async write(chunk) {
      if (!isBroken) await writer.append(chunk).catch(stopWriting);
      nameTimer ??= setTimeout(begin, NAME_DELAY_MS).unref();
    },
    nameSession(agentSessionId) {
      if (writer.note.sessionId === null) void writer.name(agentSessionId).catch(stopWriting).then(begin);
    },
    async close(end) {
      begin();
      await writer.end(end).catch(stopWriting);
      await Promise.race([sending, sleep(DRAIN_MS, undefined, { ref: false })]);
      aborting.abort();
      const outcome = await sending;
      await flushing;
      try {
        tellOutcome(outcome, writer, { target, isVerbose, tell });
        await settle(outcome, writer);
      } catch (error) {
        tell(`the spool in ${folder} cannot be maintained (${toReason(error)})`);
      }
    },
  };
}

type SendOutcome = { state: 'sent' } | { state: 'waiting' | 'refused'; reason: string };

async function sendInBackground(
  writer: SpoolWriter,
  target: RecordTarget,
  tell: RecordingOptions['tell'],
  signal: AbortSignal,
): Promise<SendOutcome> {
  const { spoolTarget } = target;
  let isTold = false;
  try {
    const options = {
      place: writer.place,
      growth: writer.growth,
      readNote: () => ({ ...writer.note, sessionId: toSessionName(writer.note) }),
      rename: () => writer.rename(ulid()),
      findPlace: () => target.findPlace(spoolTarget),
      onUnavailable(message: string) {
        if (!isTold && !writer.growth.isEnded) tell(`${message}. The stream is saved, and sent when possible`);
        isTold = true;
      },
      signal,
    };
    await sendStream(options, FRESH);
    return { state: 'sent' };
  } catch (error) {
    if (signal.aborted) return { state: 'waiting', reason: 'it takes too long' };
    if (!(error instanceof DeliveryError)) return { state: 'waiting', reason: toReason(error) };
    const isFinal = error.code !== 'unavailable' && error.code !== 'denied';
    if (!writer.growth.isEnded) tell(`${error.message}. The stream is saved`);
    return { state: isFinal ? 'refused' : 'waiting', reason: error.message };
  }
}

async function flushInBackground(
  folder: string,
  target: RecordTarget,
  tell: RecordingOptions['tell'],
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const { state } of flushSpool(folder, target, signal)) {
      // Waiting and rejected streams are left to `recount live flush`.
      if (state === 'sent') tell('a stream that waited in the spool is sent');
    }
  } catch (error) {
    if (!signal.aborted) tell(`what waits in the spool could not be sent (${toReason(error)})`);
  }
}

function tellOutcome(
  outcome: SendOutcome | undefined,
  { growth, note }: SpoolWriter,
  { target, isVerbose, tell }: Pick<RecordingOptions, 'target' | 'isVerbose' | 'tell'>,
): void {
  if (growth.size === 0 || outcome === undefined) return;
  if (outcome.state === 'sent') {
    if (isVerbose) tell(`recorded as session ${toSessionName(note)} by ${toTargetName(target.spoolTarget)}`);
    return;
  }
  const what = `${formatBytes(growth.size)} of the stream`;
  tell(
    outcome.state === 'waiting'
      ? `${what} wait to be sent (${outcome.reason}). The next recording sends them, or \`recount live flush\``
      : `${what} stay in the spool, because the server refuses them (${outcome.reason})`,
  );
}

async function settle(outcome: SendOutcome | undefined, { growth, place, note, release }: SpoolWriter): Promise<void> {
  try {
    if (growth.size === 0 || outcome?.state === 'sent') await removeFromSpool(place);
    else if (outcome?.state === 'refused') await writeSpoolNote(place, { ...note, refusal: outcome.reason });
  } finally {
    await release();
  }
}

/** For people, the system's error code, else the message. Neither quotes the stream. */
function toReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
