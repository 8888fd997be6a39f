import type { UsageKey } from '@recount/usage';
import { Command, Option } from 'commander';
import type { CliContext } from '../terminal/cli-context.ts';
import { addUsageOptions, GROUP_KEYS, toGroupKeys, type UsageOptions } from '../usage/usage-options.ts';

const PERIODS: Readonly<Record<string, UsageKey>> = {
  daily: 'day',
  weekly: 'week',
  monthly: 'month',
  session: 'session',
};

export function createUsageCommand(context: CliContext): Command {
  const usage = addUsageOptions(new Command('usage'))
    .description('Tokens and cost of this machine’s agents, without a server')
    .option('--by <keys>', `one row for each of: ${GROUP_KEYS.join(', ')}`, toGroupKeys)
    .addOption(new Option('--group-by <keys>', 'the same').argParser(toGroupKeys).hideHelp())
    .option('--breakdown', 'show the models of each row')
    .addHelpText(
      'after',
      `
Reads the transcripts that Claude Code and other agents keep on this machine, or those below the paths. Each API
response counts once over all files, by the rules of docs/accuracy.md. Only reads: nothing is uploaded, and no database
is needed. Results are cached in the user's cache folder, so that the next call reads only what has changed; --no-cache reads
everything, and caches nothing.

Examples:
  $ recount usage
  $ recount usage --from 7d --by day,model
  $ recount usage --by project --json | jq '.rows[0]'
  $ recount usage monthly --csv > usage.csv
  $ recount usage blocks --active
  $ recount usage ~/old-laptop/.claude`,
    )
    .action(async (paths: string[], { by, ...options }: UsageOptions & { by?: UsageKey[] }) => {
      const { showUsage } = await import('../usage/show-usage.ts');
      await showUsage(context, paths, by === undefined ? options : { ...options, groupBy: by });
    });
  for (const [name, key] of Object.entries(PERIODS)) {
    usage.addCommand(
      addUsageOptions(new Command(name))
        .description(`The same by ${key}`)
        .option('--breakdown', 'show the models of each row')
        .action(async (paths: string[], _options: unknown, command: Command) => {
          const { showUsage } = await import('../usage/show-usage.ts');
          await showUsage(context, paths, { ...command.optsWithGlobals<UsageOptions>(), groupBy: [key] });
        }),
    );
  }
  return usage.addCommand(createBlocksCommand(context)).addCommand(createStatuslineCommand(context));
}

function createBlocksCommand(context: CliContext): Command {
  return addUsageOptions(new Command('blocks'))
    .description('Five-hour blocks, the provider’s rate-limit window')
    .option('--active', 'only the block that has not ended')
    .option('--recent', 'only blocks of the last three days')
    .action(async (paths: string[], _options: unknown, command: Command) => {
      const { showBlocks } = await import('../usage/show-blocks.ts');
      await showBlocks(context, paths, command.optsWithGlobals());
    });
}

function createStatuslineCommand(context: CliContext): Command {
  return new Command('statusline')
    .description('One line for the status line of an agent, from the cache')
    .addHelpText(
      'after',
      `
Takes what Claude Code says about its session on stdin, as its setting "statusLine" does:
  "statusLine": { "type": "command", "command": "recount usage statusline" }
It never reads transcripts itself: if its figures are older than 30 seconds, it starts \`recount usage\` in the background.`,
    )
    .action(async () => {
      const { showStatusline } = await import('../usage/statusline.ts');
      await showStatusline(context.environment, context.stdout);
    });
}
