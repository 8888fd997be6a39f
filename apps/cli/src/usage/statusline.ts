import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeLeastRoom, toPlainText } from '../data-directory/budget-memory.ts';
import type { CliContext } from '../terminal/cli-context.ts';
import { toUsageCache } from './cache-directory.ts';

/** The file that `recount usage` saves for the status line, which reads nothing else. */
export interface RememberedStatus {
  writtenAtMs: number;
  /** `2026-03-01`, in the time zone of the machine. */
  day: string;
  todayCostUsd: number | null;
  /** The cost of each session of the last days, by its id. */
  sessionCostsUsd: Record<string, number | null>;
  /** The latest five-hour block, which may have ended. */
  block: { start: string; end: string; costUsd: number | null } | null;
}

/** The fields used of Claude Code's JSON on stdin, see https://code.claude.com/docs/en/statusline */
interface AgentStatus {
  session_id?: unknown;
  model?: { display_name?: unknown };
  context_window?: { total_input_tokens?: unknown; used_percentage?: unknown };
}

const FILE = 'status.json';
const REFRESH_MARK = 'refreshing';
/** Older values are refreshed. */
const MAX_AGE_MS = 30_000;
/** A refresh takes no longer, unless it is the first one of a long history. */
const REFRESH_MS = 60_000;
const MAX_INPUT_BYTES = 1024 * 1024;
const HOUR_MS = 60 * 60_000;
const MINUTE_MS = 60_000;

/** `recount usage statusline`. Never fails. If there is nothing to show, it says so. */
export async function showStatusline(
  environment: CliContext['environment'],
  stdout: Pick<NodeJS.WriteStream, 'write'>,
  nowMs = Date.now(),
): Promise<void> {
  const directory = toUsageCache({ environment });
  const status = directory === undefined ? undefined : readStatus(directory);
  const budget = await describeLeastRoom(environment, nowMs);
  const line = formatStatus(readAgentStatus(), status, nowMs);
  stdout.write(`${budget === undefined ? line : `${line} | 📊 ${budget}`}\n`);
  if (directory === undefined || (status !== undefined && nowMs - status.writtenAtMs < MAX_AGE_MS)) return;
  await refresh(directory, nowMs);
}

function formatStatus(agent: AgentStatus, status: RememberedStatus | undefined, nowMs: number): string {
  const parts: string[] = [];
  const { model, context_window: window, session_id: sessionId } = agent;
  if (typeof model?.display_name === 'string') parts.push(`🤖 ${toPlainText(model.display_name)}`);
  if (status === undefined) parts.push('💰 recount is reading the history…');
  else {
    const session = typeof sessionId === 'string' ? status.sessionCostsUsd[sessionId] : undefined;
    const isToday = status.day === toLocalDay(nowMs);
    const costs = [`${toDollars(isToday ? status.todayCostUsd : 0)} today`];
    if (typeof sessionId === 'string') costs.unshift(`${toDollars(session ?? (session === null ? null : 0))} session`);
    const endMs = Date.parse(status.block?.end ?? '');
    if (status.block !== null && endMs > nowMs) {
      const left = endMs - nowMs;
      const remaining = `${Math.floor(left / HOUR_MS)}h ${Math.floor((left % HOUR_MS) / MINUTE_MS)}m left`;
      costs.push(`${toDollars(status.block.costUsd)} block (${remaining})`);
    }
    parts.push(`💰 ${costs.join(' / ')}`);
    if (status.block !== null && endMs > nowMs && status.block.costUsd !== null) {
      const hours = Math.max((nowMs - Date.parse(status.block.start)) / HOUR_MS, 1 / 60);
      parts.push(`🔥 ${toDollars(status.block.costUsd / hours)}/hr`);
    }
  }
  if (typeof window?.total_input_tokens === 'number') {
    const share = typeof window.used_percentage === 'number' ? ` (${Math.round(window.used_percentage)}%)` : '';
    parts.push(`🧠 ${window.total_input_tokens.toLocaleString('en-US')}${share}`);
  }
  return parts.join(' | ');
}

const toDollars = (usd: number | null): string => (usd === null ? 'unpriced' : `$${usd.toFixed(2)}`);

function toLocalDay(timeMs: number): string {
  const local = new Date(timeMs);
  const pad = (number: number): string => String(number).padStart(2, '0');
  return `${local.getFullYear()}-${pad(local.getMonth() + 1)}-${pad(local.getDate())}`;
}

/** Empty on a terminal, where no one will type JSON. */
function readAgentStatus(): AgentStatus {
  if (process.stdin.isTTY) return {};
  try {
    if (!statSync('/dev/stdin', { throwIfNoEntry: false }) && process.platform !== 'win32') return {};
    const text = readFileSync(0, 'utf8').slice(0, MAX_INPUT_BYTES);
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

function readStatus(directory: string): RememberedStatus | undefined {
  try {
    return JSON.parse(readFileSync(join(directory, FILE), 'utf8')) as RememberedStatus;
  } catch {
    return undefined;
  }
}

/** Readers get either the old or the new one. */
export function writeStatus(directory: string, status: RememberedStatus): void {
  const path = join(directory, FILE);
  const temporary = `${path}.${process.pid}`;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeFileSync(temporary, JSON.stringify(status), { mode: 0o600 });
  renameSync(temporary, path);
}

/** Starts a process that updates the status, unless one is running. */
async function refresh(directory: string, nowMs: number): Promise<void> {
  const mark = join(directory, REFRESH_MARK);
  const startedAtMs = statSync(mark, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (nowMs - startedAtMs < REFRESH_MS) return;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(mark, '');
  } catch {
    return;
  }
  const { spawn } = await import('node:child_process');
  const [, script = ''] = process.argv;
  const options = { detached: true, stdio: 'ignore', windowsHide: true } as const;
  spawn(process.execPath, [script, 'usage', '--json'], options).unref();
}
