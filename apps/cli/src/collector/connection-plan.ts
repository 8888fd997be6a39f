import { stat } from 'node:fs/promises';
import * as collect from '@recount/collect';
import { identifyAttachment } from '@recount/core';
import { type Connection, toCollectorFolder } from '../connection/connection.ts';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { formatBytes, formatCountOf } from '../terminal/format-values.ts';
import { createSendDecider } from './send-decision.ts';
import { toMachine } from './this-machine.ts';

/** The changes to agents' settings that make them call `command`, and `prompt` before each prompt. */
export async function planChanges(
  context: CliContext,
  command: string,
  prompt: collect.PromptHook,
): Promise<collect.HookChange[]> {
  return await collect.planHooks(collect.listHookFiles(toMachine(context)), command, prompt);
}

/** Prints what is connected, and the changes to settings. */
export function showPlan(
  context: CliContext,
  { url, machine, person, excludes, usageOnly = [], redacts, budgets = [] }: Connection,
  changes: readonly collect.HookChange[],
  { command, prompt }: { command: string; prompt: collect.PromptHook },
): void {
  note(context, `Server   ${url}\nMachine  ${machine}\nPerson   ${person ?? ''}`);
  if (excludes.length > 0) note(context, `Not sent ${excludes.join(', ')}`);
  if (usageOnly.length > 0) note(context, `Usage only, without texts: ${usageOnly.join(', ')}`);
  if (redacts) note(context, 'Secrets are removed before anything is sent.');
  for (const { name, action } of budgets) note(context, `Budget   ${name}: ${BUDGET_WORDS[action]}`);
  for (const { file, before, after, problem } of changes) {
    note(context, '');
    if (problem !== undefined) {
      note(
        context,
        `${file.path} stays as it is. ${problem}: add the hooks yourself, or run \`recount send\` from cron.`,
      );
    } else if (after === undefined) {
      note(context, `${file.path} has the hooks already.`);
    } else {
      note(
        context,
        `${file.path}${before === undefined ? ', a new file,' : ''} gets a hook of ${file.label} for each of`,
      );
      note(context, `  ${file.events.join(', ')}:`);
      note(context, `  ${file.toEntry === undefined ? command : JSON.stringify(file.toEntry(command))}`);
      if (prompt.isWanted && file.promptEvent !== undefined && file.toEntry !== undefined) {
        note(context, `and before each prompt, for ${file.promptEvent}:`);
        note(context, `  ${JSON.stringify(file.toEntry(prompt.command))}`);
      }
      if (file.hint !== undefined) note(context, file.hint);
    }
  }
  note(context, '');
}

/** The part of each session that would be sent, from reading its beginning. */
export async function showFound(context: CliContext, connection: Connection): Promise<void> {
  const folder = toCollectorFolder(context);
  const log = await collect.openSentLog(folder.sentLog);
  const decide = createSendDecider(connection);
  let sizeBytes = 0;
  let count = 0;
  const show = (name: string, decision: collect.SendDecision): void => {
    count += decision.kind === 'nothing' ? 0 : 1;
    const remark =
      decision.kind === 'everything' ? '' : decision.kind === 'rewritten' ? decision.what : `not: ${decision.reason}`;
    print(context, remark === '' ? name : `${name}  (${remark})`);
  };
  const onLink = (link: collect.NotRead): void => noteNotRead(context, link);
  for (const { path } of await collect.listChanged(toMachine(context), log, { onLink })) {
    const attachment = identifyAttachment(path);
    const decision =
      attachment === undefined
        ? (decide?.(path.replace(/\.(zst|gz)$/, ''), await collect.readHead(path)) ?? EVERYTHING)
        : await collect.decideAttachment(decide, path, attachment);
    show(path, decision);
    if (decision.kind !== 'nothing') sizeBytes += (await stat(path)).size;
  }
  const memory = await collect.openSessionMemory(folder.databases);
  for await (const item of collect.readSessions(await collect.listDatabases(toMachine(context)), { memory })) {
    if (item.kind === 'failed') noteNotRead(context, { path: item.location, reason: item.error.message });
    if (item.kind !== 'transcript') continue;
    const head: Uint8Array[] = [];
    for await (const chunk of await item.open()) {
      if (head.length === 0) head.push(chunk);
      sizeBytes += chunk.length;
    }
    show(item.location, decide?.(item.path, Buffer.concat(head)) ?? EVERYTHING);
  }
  note(context, `${formatCountOf(count, 'file')} would be sent, ${formatBytes(sizeBytes)} before they are compressed.`);
}

/** Names the agents' databases that are not read, or not completely, and links. */
export async function showNotRead(context: CliContext): Promise<void> {
  const machine = toMachine(context);
  const databases = await collect.listNotRead(await collect.listDatabases(machine));
  for (const each of [...collect.listLinks(machine), ...databases]) noteNotRead(context, each);
}

function noteNotRead(context: CliContext, { path, reason }: collect.NotRead): void {
  note(context, `Not read: ${path} (${reason}).`);
}

/** Says what Claude Code and Codex do once a budget is reached. */
export const BUDGET_WORDS = {
  warn: 'Claude Code and Codex warn once it is reached',
  stop: 'Claude Code and Codex answer no prompts once it is reached',
} as const;

const EVERYTHING: collect.SendDecision = { kind: 'everything' };
