import { rm } from 'node:fs/promises';
import { writeWhole } from '@recount/collect';
import type { BudgetList } from '@recount/contract';
import { createLocalClock } from '@recount/core';
import { createApiClient } from '../connection/api-client.ts';
import { type Connection, readConnection, toCollectorFolder } from '../connection/connection.ts';
import { findNamed } from '../connection/with-client.ts';
import { type RememberedBudgets, toBudgetsFile } from '../data-directory/budget-memory.ts';
import type { CliContext } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';

const TIMEOUT_MS = 10_000;

/** Reads a connection's budgets from its server. Throws CliError for a name that it does not have. */
export async function readBudgetsOf(
  { url, key, budgets = [] }: Pick<Connection, 'url' | 'key' | 'budgets'>,
  nowMs = Date.now(),
): Promise<RememberedBudgets> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const list = await createApiClient({ url, key }).request<BudgetList>('/v1/budgets', { signal });
  if (list === undefined) throw new CliError(`${url} has no budgets. Is it an older version?`);
  const remembered = budgets.flatMap(({ name, action }) => {
    const { unit, amount, time_zone, status } = findNamed(list.budgets, 'budget', name);
    if (status === null) return [];
    const endsAtMs = createLocalClock(time_zone).toDayStartMs(status.to);
    return [{ name, action, unit, amount, spent: status.spent, endsAtMs }];
  });
  return { readAtMs: nowMs, budgets: remembered };
}

/** Saves them for the hook and the status line; deletes what was saved if the connection has no budgets. */
export async function writeBudgets(context: CliContext, remembered: RememberedBudgets | undefined): Promise<void> {
  const path = toBudgetsFile(toCollectorFolder(context).path);
  if (remembered === undefined) await rm(path, { force: true });
  else await writeWhole(path, JSON.stringify(remembered));
}

/** `recount budget remember`, which the hook and the status line start in the background. */
export async function rememberBudgets(context: CliContext): Promise<void> {
  const connection = await readConnection(context);
  if (connection === undefined || (connection.budgets ?? []).length === 0) return;
  await writeBudgets(context, await readBudgetsOf(connection));
}
