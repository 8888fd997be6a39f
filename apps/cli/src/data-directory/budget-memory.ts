import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { CliContext } from '../terminal/cli-context.ts';

// Loads nothing of recount, because agents call it before each prompt, and status lines after each message.

/** Decides about a prompt once a budget is reached. */
type BudgetAction = 'warn' | 'stop';

export interface RememberedBudget {
  name: string;
  action: BudgetAction;
  unit: 'usd' | 'tokens';
  /** Dollars or tokens. */
  spent: number;
  amount: number;
  /** End of the period, in milliseconds since 1970. */
  endsAtMs: number;
}

/** The budgets that this machine was connected with, as the server last told them. */
export interface RememberedBudgets {
  readAtMs: number;
  budgets: RememberedBudget[];
}

const FILE = 'budgets.json';
const REFRESH_MARK = 'budgets.json.refreshing';
/** Older figures are read again. */
const FRESH_MS = 60_000;
/** Older figures decide nothing, as after an hour without a network. */
const MAX_AGE_MS = 60 * 60_000;
/** A refresh takes no longer. */
const REFRESH_MS = 15_000;

type Environment = CliContext['environment'];

export function toBudgetsFile(collectorFolder: string): string {
  return join(collectorFolder, FILE);
}

function toCollector({ RECOUNT_DATA_DIR: configured }: Environment): string {
  return join(configured ? resolve(configured) : join(homedir(), '.recount'), 'collector');
}

/** The remembered budgets whose figures still hold. Starts a process that reads them again if they are not new. */
async function recallBudgets(environment: Environment, nowMs: number): Promise<RememberedBudget[]> {
  const folder = toCollector(environment);
  const remembered = readRemembered(toBudgetsFile(folder));
  if (remembered === undefined) return [];
  const ageMs = nowMs - remembered.readAtMs;
  if (Math.abs(ageMs) >= FRESH_MS) await refresh(folder, nowMs);
  return Math.abs(ageMs) < MAX_AGE_MS ? remembered.budgets.filter(({ endsAtMs }) => endsAtMs > nowMs) : [];
}

function readRemembered(path: string): RememberedBudgets | undefined {
  try {
    const { readAtMs, budgets } = JSON.parse(readFileSync(path, 'utf8')) as RememberedBudgets;
    if (typeof readAtMs !== 'number' || !Array.isArray(budgets)) return undefined;
    return { readAtMs, budgets: budgets.filter(isBudget) };
  } catch {
    return undefined;
  }
}

/** The fields are as a server told them, which may be no recount. */
function isBudget(value: unknown): boolean {
  const { name, spent, amount, endsAtMs } = (value ?? {}) as Partial<RememberedBudget>;
  return typeof name === 'string' && [spent, amount, endsAtMs].every(Number.isFinite) && Number(amount) > 0;
}

async function refresh(folder: string, nowMs: number): Promise<void> {
  const mark = join(folder, REFRESH_MARK);
  const startedAtMs = statSync(mark, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (Math.abs(nowMs - startedAtMs) < REFRESH_MS) return;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(mark, '', { mode: 0o600 });
    const { spawn } = await import('node:child_process');
    const [, script = ''] = process.argv;
    const options = { detached: true, stdio: 'ignore', windowsHide: true } as const;
    spawn(process.execPath, [script, 'budget', 'remember'], options)
      .on('error', () => undefined)
      .unref();
  } catch {
    // The next call tries again.
  }
}

/**
 * `recount budget check --hook`, which Claude Code and Codex call before they answer a prompt (UserPromptSubmit). Prints
 * the JSON that both understand: `decision` and `reason` stop the prompt, `systemMessage` is shown to the user. Prints
 * nothing if no budget is reached or none is known, and never fails, so that the agent continues.
 */
export async function runBudgetHook(
  environment: Environment,
  stdout: Pick<NodeJS.WriteStream, 'write'>,
  nowMs = Date.now(),
): Promise<void> {
  const reached = (await recallBudgets(environment, nowMs)).filter(({ spent, amount }) => spent >= amount);
  if (reached.length === 0) return;
  const stops = reached.some(({ action }) => action === 'stop');
  const text = `recount: ${reached.map(describeBudget).join('; ')}.`;
  const answer = stops
    ? { decision: 'block', reason: `${text} Prompts are stopped until the period ends or the budget is raised.` }
    : { systemMessage: text };
  stdout.write(`${JSON.stringify(answer)}\n`);
}

function describeBudget({ name, unit, spent, amount }: RememberedBudget): string {
  const format = (value: number): string =>
    unit === 'usd' ? `$${value.toFixed(2)}` : `${Math.round(value).toLocaleString('en-US')} tokens`;
  return `the budget ${toPlainText(name)} is reached, ${format(spent)} of ${format(amount)}`;
}

/** The budget with the largest share spent, for a status line; undefined without one. */
export async function describeLeastRoom(environment: Environment, nowMs: number): Promise<string | undefined> {
  const budgets = await recallBudgets(environment, nowMs);
  const [most] = budgets.sort((a, b) => b.spent / b.amount - a.spent / a.amount);
  return most && `${toPlainText(most.name)} ${Math.floor((most.spent / most.amount) * 100)}%`;
}

const MAX_NAME_LENGTH = 60;

/** Untrusted names must not control the terminal. */
export const toPlainText = (text: string): string =>
  text.replaceAll(/\p{Cc}|\p{Bidi_Control}/gu, '').slice(0, MAX_NAME_LENGTH);
