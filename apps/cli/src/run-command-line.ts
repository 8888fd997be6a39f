import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import type { CliContext } from './cli-context.ts';
import { note, print } from './cli-context.ts';
import { toExit } from './cli-error.ts';
import { createApiCommand } from './commands/api.ts';
import { createAuditCommand } from './commands/audit.ts';
import { createBackfillCommand } from './commands/backfill.ts';
import { createConnectCommand } from './commands/connect.ts';
import { createDeleteCommand } from './commands/delete.ts';
import { createDisconnectCommand } from './commands/disconnect.ts';
import { createDoctorCommand } from './commands/doctor.ts';
import { createExportCommand } from './commands/export.ts';
import { createStopCommand, createUninstallCommand } from './commands/installation.ts';
import { createIssuesCommand } from './commands/issues.ts';
import { createKeysCommand } from './commands/keys.ts';
import { createLiveCommand } from './commands/live.ts';
import { createMcpCommand } from './commands/mcp.ts';
import { createMigrateCommand } from './commands/migrate.ts';
import { createParseCommand } from './commands/parse.ts';
import { createPricesCommand } from './commands/prices.ts';
import { createReportCommand } from './commands/report.ts';
import { createRepriceCommand } from './commands/reprice.ts';
import { createRequeueCommand } from './commands/requeue.ts';
import { createPullCommand, createRestoreCommand } from './commands/restore.ts';
import { createRetainCommand } from './commands/retain.ts';
import { createRunCommand } from './commands/run.ts';
import { createSearchCommand } from './commands/search.ts';
import { createSendCommand } from './commands/send.ts';
import { createSessionsCommand } from './commands/sessions.ts';
import { createSettingsCommand } from './commands/settings.ts';
import { createShareCommand } from './commands/share.ts';
import { createShowCommand, createWhyCommand } from './commands/show.ts';
import { createSqlCommand } from './commands/sql.ts';
import { createStatusCommand } from './commands/status.ts';
import { createTailCommand } from './commands/tail.ts';
import { createUpCommand } from './commands/up.ts';
import { createUploadCommand } from './commands/upload.ts';
import { createUsageCommand } from './commands/usage.ts';
import { createVerifyCommand } from './commands/verify.ts';
import { createWatchCommand } from './commands/watch.ts';
import { createWorkerCommand } from './commands/worker.ts';
import { createWorkspacesCommand } from './commands/workspaces.ts';

const VERSION: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;

/** Shown to who gives no arguments, before the usage of the machine. */
const OVERVIEW = `recount ${VERSION}: the warehouse for coding-agent transcripts

  recount usage       tokens and cost of this machine's agents, as below
  recount up          keep all transcripts in a database on this machine, with API and reports
  recount connect     keep them on a server
  recount --help      everything else
`;

/**
 * Runs `recount` with the given arguments and returns its exit code: 0 if all went well, 1 where something failed, 2 where
 * the call made no sense, 130 where it was interrupted.
 */
export async function runCommandLine(context: CliContext, commandArguments: readonly string[]): Promise<number> {
  endQuietlyWithoutReader(context);
  try {
    if (commandArguments.length === 0) print(context, OVERVIEW);
    const words = commandArguments.length === 0 ? ['usage'] : commandArguments;
    await createProgram(context).parseAsync(words, { from: 'user' });
    return context.exitCode;
  } catch (error) {
    const { exitCode, message } = await toExit(error, context.environment);
    if (message !== '') note(context, `recount: ${message}`);
    return exitCode;
  }
}

/** What becomes of a log, or of output that is shown besides, is no reason to end: nobody reads it, or its disk is full. */
const LOST_OUTPUT = new Set(['EPIPE', 'ENOSPC', 'EDQUOT']);

/** `recount parse FILE | head` closes the pipe when it has seen enough. */
function endQuietlyWithoutReader(context: CliContext): void {
  for (const stream of [context.stdout, context.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // The terminal was closed: there is nobody to tell, but what was begun is to be ended in order.
      if (error.code === 'EIO') return;
      if (context.outlivesReader && LOST_OUTPUT.has(error.code ?? '')) return;
      if (error.code !== 'EPIPE') throw error;
      process.exit(0);
    });
  }
}

/** Every command, below the heading that `recount --help` has for it. */
const COMMANDS: Readonly<Record<string, readonly ((context: CliContext) => Command)[]>> = {
  'Get started:': [createUsageCommand, createUpCommand, createConnectCommand],
  'Bring transcripts in, and take them out again:': [
    createBackfillCommand,
    createUploadCommand,
    createSendCommand,
    createWatchCommand,
    createDisconnectCommand,
    createExportCommand,
    createRestoreCommand,
    createPullCommand,
    createDeleteCommand,
  ],
  'Ask:': [
    createSessionsCommand,
    createShowCommand,
    createWhyCommand,
    createReportCommand,
    createSearchCommand,
    createShareCommand,
    createPricesCommand,
    createSqlCommand,
    createParseCommand,
    createMcpCommand,
  ],
  'Running agents:': [createRunCommand, createTailCommand, createLiveCommand],
  'The installation:': [
    createStatusCommand,
    createIssuesCommand,
    createStopCommand,
    createUninstallCommand,
    createKeysCommand,
    createWorkspacesCommand,
    createSettingsCommand,
    createAuditCommand,
    createRetainCommand,
    createDoctorCommand,
    createVerifyCommand,
    createRepriceCommand,
    createRequeueCommand,
  ],
  'Its programs:': [createMigrateCommand, createApiCommand, createWorkerCommand],
};

function createProgram(context: CliContext): Command {
  const program = new Command('recount')
    .description('The warehouse for coding-agent transcripts.')
    .version(VERSION)
    .showHelpAfterError('Add --help to see how it is used.')
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'recount: ')),
    })
    .exitOverride();
  for (const [heading, creators] of Object.entries(COMMANDS)) {
    for (const create of creators) {
      const command = create(context).helpGroup(heading);
      for (const each of [command, ...command.commands]) each.copyInheritedSettings(program);
      program.addCommand(command);
    }
  }
  return program;
}
