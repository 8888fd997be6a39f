import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { FoundSessions } from '@recount/collect';
import { askToImport, canAsk, findOnMachine, NOTHING_FOUND, toImportedPaths } from '../backfill/found-sessions.ts';
import type { DataDirectory } from '../data-directory/data-directory.ts';
import { type CliContext, note, toLauncher } from '../terminal/cli-context.ts';
import { formatBytes, formatCount } from '../terminal/format-values.ts';
import { toPrintWidth } from '../terminal/print-width.ts';
import { formatTable } from '../terminal/table.ts';

/**
 * The sessions of this machine's agents that `recount up` is to import: all with `import`, none without it, and
 * undefined asks on the first start if there is a terminal. Opens no session before the answer, only lists files.
 */
export async function chooseImport(
  context: CliContext,
  { importMark }: DataDirectory,
  isWanted: boolean | undefined,
): Promise<readonly string[]> {
  if (isWanted === false || (isWanted === undefined && existsSync(importMark))) return [];
  const found = await findOnMachine(context, { agent: [] });
  const paths = toImportedPaths(found);
  if (paths.length === 0) {
    if (isWanted) note(context, NOTHING_FOUND);
    return [];
  }
  const launcher = toLauncher(context.workingDirectory);
  if (isWanted === undefined && !canAsk(context)) {
    note(context, `Found ${describeFound(found)}. \`${launcher} backfill\` imports them.`);
    return [];
  }
  if (isWanted === undefined) {
    for (const line of toTable(context, found)) note(context, line);
    const isAgreed = await askToImport(context, found, { isDefault: true });
    await writeFile(importMark, '', { mode: 0o600 });
    if (!isAgreed) {
      note(context, `Nothing is imported. \`${launcher} backfill\` does it later.`);
      return [];
    }
  }
  return paths;
}

interface FoundAgent {
  label: string;
  files: number;
  bytes: number;
}

/** One row for each agent, the largest first. */
function sumByAgent(found: readonly FoundSessions[]): FoundAgent[] {
  const agents = new Map<string, FoundAgent>();
  for (const each of found) {
    const files = toImportedPaths([each]).length;
    if (files === 0) continue;
    const { label } = each.agent;
    const sum = agents.get(label) ?? { label, files: 0, bytes: 0 };
    agents.set(label, { label, files: sum.files + files, bytes: sum.bytes + each.sizeBytes });
  }
  return [...agents.values()].sort((a, b) => b.bytes - a.bytes);
}

function describeFound(found: readonly FoundSessions[]): string {
  const agents = sumByAgent(found).map(
    ({ label, files, bytes }) => `${label} ${formatCount(files)} (${formatBytes(bytes)})`,
  );
  return `session files of ${agents.join(', ')}`;
}

function toTable(context: CliContext, found: readonly FoundSessions[]): string[] {
  const columns = [
    { header: 'FOUND' },
    { header: 'FILES', align: 'right' },
    { header: 'SIZE', align: 'right' },
  ] as const;
  const rows = sumByAgent(found).map(({ label, files, bytes }) => [label, formatCount(files), formatBytes(bytes)]);
  return formatTable(columns, rows, toPrintWidth(context));
}
