import { type AgentExit, agentOf, toCloseEvent, withOutputFlags } from '@recount/core/live';
import type { CliContext } from '../terminal/cli-context.ts';
import { AgentStartError, startAgent, toExitCode } from './agent-process.ts';
import { followStream } from './follow-stream.ts';
import type { LiveOptions } from './live-options.ts';
import { createParser, createView, readRecordTarget, startRecordingOf, watchForStall } from './live-setup.ts';
import { createScreen, type Screen } from './screen.ts';
import { createJsonView } from './stream-view.ts';

export interface RunOptions extends LiveOptions {
  completeWith?: string;
}

const INCOMPLETE_EXIT_CODE = 1;

/** Runs an agent and shows what it does; recount exits with its exit code. Throws UsageError before it is started. */
export async function runAgent(
  context: CliContext,
  command: string,
  given: readonly string[],
  options: RunOptions,
): Promise<void> {
  const target = await readRecordTarget(context, options);
  const isRecording = target !== undefined;
  // Raw output is passed through unless its stream is recorded.
  const streaming = options.stream || isRecording ? withOutputFlags(command, given) : undefined;
  const agent = streaming === undefined ? undefined : agentOf(command);
  const screen = createScreen(context);
  context.outlivesReader = true;
  if (agent === undefined) tellWhyRaw(screen, command, options.stream, isRecording);
  const watch = watchForStall(screen, command, options.stallTimeout);
  const touch = (): void => watch?.touch();
  try {
    const started = await startAgent(context, screen, {
      command,
      commandArguments: streaming ?? given,
      isDirect: agent === undefined && options.completeWith === undefined && watch === undefined,
      onStderr: touch,
    });
    const { close, isAsExpected } = await followStream({
      chunks: started.output ?? nothing(),
      parser: createParser(agent, options),
      view: createView(context, screen, agent, options),
      recording: await startRecordingOf(context, screen, agent, target, options),
      expectedAnswer: options.completeWith,
      onActivity: touch,
      waitForExit: () => started.exited.finally(() => watch?.stop()),
    });
    if (isAsExpected === false) screen.note('the answer is not the expected one');
    context.exitCode = toRunExitCode(close.exit, isAsExpected);
  } catch (error) {
    if (!(error instanceof AgentStartError)) throw error;
    screen.note(error.message);
    context.exitCode = error.exitCode;
    if (!options.json) return;
    const exit = { exitCode: error.exitCode, signal: null };
    await createJsonView(screen).showEvent({ ...toCloseEvent(Date.now(), exit), error: error.message });
  } finally {
    watch?.stop();
    await screen.close();
  }
}

function toRunExitCode(exit: AgentExit | undefined, isAsExpected: boolean | undefined): number {
  if (isAsExpected) return 0;
  const exitCode = exit === undefined ? 0 : toExitCode(exit);
  return isAsExpected === false ? exitCode || INCOMPLETE_EXIT_CODE : exitCode;
}

/** An unknown agent that is not recorded needs no explanation. */
function tellWhyRaw(screen: Screen, command: string, isStreamWanted: boolean, isRecording: boolean): void {
  const isMissed = isStreamWanted && agentOf(command) !== undefined;
  if (!isMissed && !isRecording) return;
  const rest = isRecording ? ', and not recorded' : '';
  screen.note(`with these arguments ${command} prints no stream that recount reads; passed through unchanged${rest}`);
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
