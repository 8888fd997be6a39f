import { agentOf } from '@recount/core/live';
import type { CliContext } from '../terminal/cli-context.ts';
import { INTERRUPTED_EXIT_CODE } from '../terminal/interruption.ts';
import { detectAgent } from './detect-agent.ts';
import { followStream } from './follow-stream.ts';
import type { LiveOptions } from './live-options.ts';
import { createParser, createView, readRecordTarget, startRecordingOf, watchForStall } from './live-setup.ts';
import { readUntilAborted } from './read-until-aborted.ts';
import { createScreen } from './screen.ts';

export interface TailOptions extends LiveOptions {
  agent?: string;
}

/**
 * Shows a stream from stdin. The exit code says whether the agent succeeded, judging by the stream. Throws UsageError.
 */
export async function tailStream(context: CliContext, options: TailOptions): Promise<void> {
  const target = await readRecordTarget(context, options);
  const isRecording = target !== undefined;
  // A recording must be ended properly.
  const interruption = isRecording ? context.listenForInterruption() : undefined;
  context.outlivesReader = isRecording;
  const screen = createScreen(context);
  const watch = watchForStall(screen, options.agent ?? 'the agent', options.stallTimeout);
  try {
    const stdin = interruption === undefined ? context.stdin : readUntilAborted(context.stdin, interruption);
    const onActivity = () => watch?.touch();
    // Raw bytes would not be JSON.
    const showRaw = options.json ? undefined : screen.writeBytes;
    const { agent, chunks, shown } =
      options.agent === undefined
        ? await detectAgent(stdin, { showRaw, keepsShown: isRecording, onActivity })
        : { agent: agentOf(options.agent), chunks: stdin, shown: undefined };
    if (agent === undefined && isRecording) screen.note(`a stream of ${options.agent} is not supported; not recorded`);
    const { close } = await followStream({
      chunks,
      shown,
      parser: createParser(agent, options),
      view: createView(context, screen, agent, options),
      recording: await startRecordingOf(context, screen, agent, target, options),
      expectedAnswer: undefined,
      onActivity,
      waitForExit: () => Promise.resolve(undefined),
    });
    context.exitCode = agent === undefined || close.success ? 0 : 1;
    if (interruption?.aborted) context.exitCode = INTERRUPTED_EXIT_CODE;
  } finally {
    watch?.stop();
    await screen.close();
  }
}
