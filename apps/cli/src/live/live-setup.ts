import { type AgentParser, parserFor, type RunnableAgent } from '@recount/core/live';
import { toDataDirectory } from '../data-directory/data-directory.ts';
import type { CliContext } from '../terminal/cli-context.ts';
import { UsageError } from '../terminal/cli-error.ts';
import type { EventLayout } from './event-lines.ts';
import type { LiveOptions } from './live-options.ts';
import { findRecordTarget, type RecordTarget, toTargetName } from './record-target.ts';
import { type Recording, startRecording } from './recording.ts';
import type { Screen } from './screen.ts';
import { createStallWatch, type StallWatch } from './stall-watch.ts';
import { createJsonView, createLineView, createRawView, type StreamView } from './stream-view.ts';

/** Maximum total size of all waiting streams. */
const MAX_SPOOL_BYTES = 1024 * 1024 * 1024;

/** Throws UsageError, before anything is started. Undefined without recording. */
export async function readRecordTarget(context: CliContext, options: LiveOptions): Promise<RecordTarget | undefined> {
  if (options.json && !options.stream) throw new UsageError('--json and --no-stream exclude each other.');
  const isAsked = options.record || options.server !== undefined;
  if (!isAsked) return undefined;
  // An invalid data directory is reported now, not while the agent runs.
  toDataDirectory(context);
  return await findRecordTarget(context, options);
}

/** Undefined if there is nothing to record, or no target. */
export async function startRecordingOf(
  context: CliContext,
  screen: Screen,
  agent: RunnableAgent | undefined,
  target: RecordTarget | undefined,
  options: LiveOptions,
): Promise<Recording | undefined> {
  if (agent === undefined || target === undefined) return undefined;
  const recording = await startRecording({
    folder: toDataDirectory(context).liveSpool,
    maxSpoolBytes: MAX_SPOOL_BYTES,
    target,
    agent: agent.id,
    sourceFormat: agent.program.sourceFormat,
    isVerbose: options.verbose ?? false,
    tell: screen.note,
  });
  if (recording !== undefined) screen.note(`records for ${toTargetName(target.spoolTarget)}`);
  return recording;
}

/** `agent` is undefined for a stream that cannot be parsed. */
export function createView(
  context: CliContext,
  screen: Screen,
  agent: RunnableAgent | undefined,
  options: LiveOptions,
): StreamView {
  if (agent === undefined || !options.stream) return createRawView(screen);
  if (options.json) return createJsonView(screen);
  return createLineView(screen, toLayout(context, agent, options));
}

export function createParser(agent: RunnableAgent | undefined, { json }: LiveOptions): AgentParser | undefined {
  // JSON output may go to a log, where lines must never be quoted.
  return agent === undefined ? undefined : parserFor(agent.id, { now: Date.now, quotesLines: json !== true });
}

export function watchForStall(screen: Screen, name: string, seconds: number | undefined): StallWatch | undefined {
  if (seconds === undefined) return undefined;
  return createStallWatch(seconds * 1000, {
    onStall: () => screen.note(`${name} has written nothing for ${seconds} s and may be stuck`),
    onResume: (silentMs) => screen.note(`${name} continues, after ${Math.round(silentMs / 1000)} s`),
  });
}

export function toLayout(
  { stdout, environment }: CliContext,
  agent: RunnableAgent,
  options: Pick<LiveOptions, 'verbose' | 'text' | 'progress'>,
): EventLayout {
  const isTerminal = stdout.isTTY === true;
  return {
    agent: agent.program.command,
    isVerbose: options.verbose ?? false,
    showsText: options.text,
    showsProgress: options.progress ?? false,
    isColored: isTerminal && !environment.NO_COLOR && environment.TERM !== 'dumb',
    // A terminal that does not report its width has 0 columns.
    maxWidth: isTerminal && stdout.columns > 0 ? stdout.columns : Number.POSITIVE_INFINITY,
  };
}
