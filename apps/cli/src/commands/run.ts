import { Command } from 'commander';
import { addLiveOptions, RECORDING_HELP } from '../live/live-options.ts';
import type { RunOptions } from '../live/run-agent.ts';
import type { CliContext } from '../terminal/cli-context.ts';

export function createRunCommand(context: CliContext): Command {
  const command = new Command('run')
    .description('Run a coding agent and show what it does, live')
    .usage('[options] -- <agent> [arguments...]')
    .argument('<agent>', 'claude, codex or amp, also as a path; others are passed through unchanged')
    .argument('[arguments...]', 'of the agent, as it takes them');
  return addLiveOptions(command)
    .option('--complete-with <text>', "exit with 0 if this is the agent's answer, else with an error")
    .addHelpText(
      'after',
      `
Adds the arguments that make the agent print its stream, and leaves yours unchanged. It reads this terminal's input;
its stderr and signals are passed on, and recount exits with its exit code: 128 plus the number for a signal.
${RECORDING_HELP}

Examples:
  $ recount run -- claude -p "fix the failing test"
  $ recount run --record --verbose -- codex exec "explain this folder"
  $ recount run --complete-with done --stall-timeout 300 -- claude -p "… Answer with done when all is well."`,
    )
    .action(async (agent: string, commandArguments: string[], options: RunOptions) => {
      const { runAgent } = await import('../live/run-agent.ts');
      await runAgent(context, agent, commandArguments, options);
    });
}
