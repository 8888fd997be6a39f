import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import type { CommandsByHeading } from './commands/all-commands.ts';
import { createUsageCommand } from './commands/usage.ts';
import { type CliContext, note, print } from './terminal/cli-context.ts';
import { toExit } from './terminal/cli-error.ts';
import { endQuietlyWithoutReader } from './terminal/lost-reader.ts';
import { PAGE_WIDTH, toPrintWidth } from './terminal/print-width.ts';
import { wrapHelp } from './terminal/text-width.ts';

const VERSION: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;

/** Keeps paragraphs readable in a wide terminal. */
const MAX_HELP_WIDTH = 120;

/** Shown if there are no arguments, before the machine's usage. */
const OVERVIEW = `recount ${VERSION}: the warehouse for coding-agent transcripts

  recount usage       tokens and cost of this machine's agents, as below
  recount up          keep all transcripts in a database on this machine, with API and reports
  recount connect     keep them on a server
  recount --help      everything else
`;

/**
 * Runs `recount` with the given arguments and returns its exit code: 0 for success, 1 if something failed, 2 for wrong
 * arguments, 130 if it was interrupted.
 */
export async function runCommandLine(context: CliContext, commandArguments: readonly string[]): Promise<number> {
  endQuietlyWithoutReader(context);
  try {
    if (commandArguments.length === 0) print(context, OVERVIEW);
    const words = commandArguments.length === 0 ? ['usage'] : commandArguments;
    await createProgram(context, await loadCommands(words)).parseAsync(words, { from: 'user' });
    return context.exitCode;
  } catch (error) {
    const { exitCode, message } = await toExit(error, context.environment);
    if (message !== '') note(context, `recount: ${message}`);
    return exitCode;
  }
}

/** `recount usage` runs often, and servers run for long. They need none of the other commands. */
async function loadCommands([name]: readonly string[]): Promise<CommandsByHeading> {
  switch (name) {
    case 'usage':
      return { 'Get started:': [createUsageCommand] };
    case 'api':
      return { 'The installation:': [(await import('./commands/api.ts')).createApiCommand] };
    case 'worker':
      return { 'The installation:': [(await import('./commands/worker.ts')).createWorkerCommand] };
    default:
      return (await import('./commands/all-commands.ts')).COMMANDS;
  }
}

function createProgram(context: CliContext, commands: CommandsByHeading): Command {
  // A terminal that does not report its width has 0 columns.
  const width = Math.min(toPrintWidth(context, PAGE_WIDTH) || PAGE_WIDTH, MAX_HELP_WIDTH);
  const program = new Command('recount')
    .description('The warehouse for coding-agent transcripts.')
    .version(VERSION)
    .showHelpAfterError('Add --help to see how it is used.')
    .configureOutput({
      // Commander wraps its part of a help to the same width.
      writeOut: (text) => context.stdout.write(wrapHelp(text, width)),
      getOutHelpWidth: () => width,
      // The help of a command that only has subcommands.
      writeErr: (text) => context.stderr.write(wrapHelp(text, width)),
      getErrHelpWidth: () => width,
      outputError: (text) => context.stderr.write(text.replace(/^error: /, 'recount: ')),
    })
    .exitOverride();
  for (const [heading, creators] of Object.entries(commands)) {
    for (const create of creators) {
      const command = create(context).helpGroup(heading);
      for (const each of [command, ...command.commands]) each.copyInheritedSettings(program);
      program.addCommand(command);
    }
  }
  return program;
}
