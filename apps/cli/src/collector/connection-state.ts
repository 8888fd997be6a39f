import { type CollectorStatus, listWaiting, openSentLog, readHookNotes, readJson } from '@recount/collect';
import { requireConnection, toCollectorFolder } from '../connection/connection.ts';
import { type CliContext, print, printJson } from '../terminal/cli-context.ts';
import { formatCountOf, formatTimestamp } from '../terminal/format-values.ts';
import { BUDGET_WORDS } from './connection-plan.ts';

/**
 * Prints the server that this machine is connected to and the state of sending; sets exit code 1 if the last attempt
 * failed.
 */
export async function showConnection(context: CliContext, asJson: boolean): Promise<void> {
  const connection = await requireConnection(context);
  const folder = toCollectorFolder(context);
  const status = (await readJson<CollectorStatus>(folder.status)) ?? {};
  const sent = [...(await openSentLog(folder.sentLog)).files()];
  const refused = sent.filter(({ transcriptId }) => transcriptId === null);
  const waiting = (await listWaiting(folder)).length + (await readHookNotes(folder)).length;
  const { url, machine, person, excludes, usageOnly = [], redacts = false, hookCommand, budgets = [] } = connection;
  const state = {
    ...{ url, machine, person, excludes, usage_only: usageOnly, redacts, has_hooks: hookCommand !== null, waiting },
    ...{ sent: sent.length - refused.length, refused: refused.map(({ path, reason }) => ({ path, reason })) },
    ...{ last_success_at: status.lastSuccessAt ?? null, last_sweep_at: status.lastSweepAt ?? null },
    last_error: status.lastError ?? null,
    not_read: status.notRead ?? [],
    ...{ budgets },
  };
  if (status.lastError !== undefined) context.exitCode = 1;
  if (asJson) return printJson(context, state);
  const toTime = (timestamp: string | undefined): string => formatTimestamp(timestamp ?? null, false) || '–';
  print(context, `Connected to ${url} as ${machine}, ${person ?? 'no person set'}`);
  print(context, `Hooks        ${hookCommand === null ? 'none' : connection.hooks.map(({ path }) => path).join(', ')}`);
  print(
    context,
    `Sent         ${formatCountOf(state.sent, 'session file')}, the last at ${toTime(status.lastSuccessAt)}`,
  );
  print(context, `Waiting      ${waiting}`);
  if (usageOnly.length > 0) print(context, `Usage only   ${usageOnly.join(', ')}`);
  if (redacts) print(context, 'Secrets are removed before anything is sent');
  for (const { name, action } of budgets) print(context, `Budget       ${name}: ${BUDGET_WORDS[action]}`);
  if (refused.length > 0) {
    print(context, `Not sent     ${refused.length}`);
    for (const { path, reason } of refused.slice(0, 10)) print(context, `  ${path}: ${reason}`);
  }
  for (const { path, reason } of state.not_read) print(context, `Not read     ${path}: ${reason}`);
  if (status.lastError !== undefined) {
    print(context, `Last error   ${toTime(status.lastError.at)}: ${status.lastError.message}`);
  }
}
