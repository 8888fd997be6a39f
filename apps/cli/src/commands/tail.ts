import { Command } from 'commander';
import { addLiveOptions, RECORDING_HELP } from '../live/live-options.ts';
import type { TailOptions } from '../live/tail-stream.ts';
import type { CliContext } from '../terminal/cli-context.ts';

export function createTailCommand(context: CliContext): Command {
  const command = new Command('tail')
    .description("Show a coding agent's stream from stdin as it arrives")
    .option('--agent <name>', 'claude, codex or amp; other streams are passed through unchanged (default: detected)');
  return addLiveOptions(command)
    .addHelpText(
      'after',
      `
Exits with 0, or with 1 if the stream says that the agent failed, or ends early.
${RECORDING_HELP}

Examples:
  $ claude -p "fix the failing test" --output-format stream-json --verbose | recount tail
  $ codex exec --json "explain this folder" | recount tail --agent codex --progress
  $ recount tail --json < stream.jsonl | jq 'select(.type == "tool-end" and .toolError)'`,
    )
    .action(async (options: TailOptions) => {
      const { tailStream } = await import('../live/tail-stream.ts');
      await tailStream(context, options);
    });
}
