import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { toAgentsPage } from './agents-page.ts';
import { type BudgetResult, runBudgetLab } from './budget-lab.ts';
import { CLOSED_PROGRAMS, PROGRAMS } from './programs/programs.ts';
import { toReadme } from './readme-column.ts';
import { runLab } from './run-lab.ts';
import { killPrograms } from './run-program.ts';
import { SITUATIONS } from './situations.ts';
import { startStore } from './store.ts';
import { type AgentResult, formatRows, isRight, toTable } from './table.ts';

const PAGE = fileURLToPath(new URL('../../../docs/agents.md', import.meta.url));
const README = fileURLToPath(new URL('../../../README.md', import.meta.url));

const INTERRUPTED_EXIT_CODE = 130;

const HELP = `Usage: pnpm lab [options]

Runs the vendors' newest programs headless against a fake API on loopback, through a script of situations, and compares
what recount reads in their files with what the API answered, to the token. Prints a table of agents and situations, and
writes it to docs/agents.md, and the verified versions to README.md, if all situations were run with the newest versions.
Exit code 1 if anything differs.

Programs are installed from npm into a cache folder of the user. They run with an empty home and dummy keys, and reach
nothing but loopback.

  --agent ID         only this agent; may be repeated. One of: ${PROGRAMS.map(({ agent }) => agent).join(', ')}
  --version VERSION  of the agent's package, in place of the newest one; needs one --agent
  --situation ID     only this situation; may be repeated. One of: ${SITUATIONS.map(({ id }) => id).join(', ')}
  --folder PATH      where the programs' homes are made (default: a new temporary folder)
  --offline          runs the newest versions that are installed, and asks npm for nothing
  --no-upload        starts no recount to upload the sessions to
  --budgets          tries the hook of budgets in Claude Code and Codex instead, with servers that fail
  --telemetry        lets programs that can send telemetry (OTLP) send it to that recount, and compares it as well
  --keep             leaves what the programs wrote, and says where

Examples:
  $ pnpm lab
  $ pnpm lab --agent codex --agent claude-code
  $ pnpm lab --budgets
  $ pnpm lab --agent claude-code --version 2.1.332 --situation fork --keep
  $ unshare --map-root-user --net sh -c 'ip link set lo up && pnpm lab --offline'   # without any network
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      agent: { type: 'string', multiple: true, default: [] },
      version: { type: 'string' },
      situation: { type: 'string', multiple: true, default: [] },
      folder: { type: 'string' },
      keep: { type: 'boolean', default: false },
      offline: { type: 'boolean', default: false },
      'no-upload': { type: 'boolean', default: false },
      telemetry: { type: 'boolean', default: false },
      budgets: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const agents = [...PROGRAMS, ...CLOSED_PROGRAMS].map(({ agent }) => agent);
  const isKnown =
    values.agent.every((agent) => agents.includes(agent)) &&
    values.situation.every((id) => SITUATIONS.some((situation) => situation.id === id));
  if (
    values.help ||
    !isKnown ||
    ((values.telemetry || values.budgets) && values['no-upload']) ||
    (values.version !== undefined && values.agent.length !== 1)
  ) {
    console.log(HELP);
    return values.help ? 0 : 2;
  }
  const isWanted = ({ agent }: { agent: string }) => values.agent.length === 0 || values.agent.includes(agent);
  const situations = SITUATIONS.filter(({ id }) => values.situation.length === 0 || values.situation.includes(id));
  const folder = values.folder ?? (await mkdtemp(join(tmpdir(), 'recount-lab-')));
  const store = values['no-upload'] ? undefined : await startStore();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      killPrograms();
      Promise.resolve(store?.close()).finally(() => process.exit(INTERRUPTED_EXIT_CODE));
    });
  }
  try {
    if (values.budgets && store !== undefined) {
      const { version, offline: isOffline } = values;
      const programs = PROGRAMS.filter(isWanted);
      return (await runBudgetLab({ programs, version, isOffline, folder, store, onResult: showBudgetResult })) ? 0 : 1;
    }
    const results = await runLab({
      programs: PROGRAMS.filter(isWanted),
      closedPrograms: CLOSED_PROGRAMS.filter(isWanted),
      situations,
      version: values.version,
      isOffline: values.offline,
      folder,
      keep: values.keep,
      store,
      hasTelemetry: values.telemetry,
      onProgress: (text) => console.log(text),
    });
    const date = new Date().toISOString().slice(0, 10);
    const run = results.filter(({ cells }) => cells.length > 0);
    console.log(`\n${formatRows(toTable(run, situations, date, toVerdict))}`);
    for (const { label, what, reason } of listNotTried(results)) console.log(`not tried: ${label}, ${what}: ${reason}`);
    if (values.version === undefined && store !== undefined && situations.length === SITUATIONS.length)
      await writePages(results, date);
    return results.every((result) => result.cells.length === 0 || isRight(result)) ? 0 : 1;
  } finally {
    await store?.close();
    if (values.keep) console.log(`\nKept in ${folder}`);
    else if (values.folder === undefined) await rm(folder, { recursive: true, force: true });
  }
}

const showBudgetResult = ({ label, version, what, fault }: BudgetResult): void =>
  console.log(`${label} ${version}, budget, ${what}: ${fault ?? 'right'}`);

/** Situations that programs cannot be put into, and programs that could not be run. */
function listNotTried(results: readonly AgentResult[]): { label: string; what: string; reason: string }[] {
  const situations = PROGRAMS.flatMap(({ label, notTried = {} }) =>
    Object.entries(notTried).map(([id, reason]) => {
      const what = SITUATIONS.find((situation) => situation.id === id)?.label ?? id;
      return { label, what, reason };
    }),
  );
  const closed = [...results.filter(({ cells }) => cells.length === 0), ...CLOSED_PROGRAMS];
  const reasons = new Map(closed.map(({ label, reason = '' }) => [label, reason]));
  const newer = results.flatMap(({ label, cells, reason }) =>
    cells.length === 0 || reason === undefined ? [] : [{ label, what: 'newer versions', reason }],
  );
  return [...situations, ...newer, ...[...reasons].map(([label, reason]) => ({ label, what: 'all', reason }))];
}

const toVerdict = (result: AgentResult): string => (isRight(result) ? 'yes' : 'no');

async function writePages(results: readonly AgentResult[], date: string): Promise<void> {
  const previous = await readFile(PAGE, 'utf8').catch(() => undefined);
  const page = toAgentsPage({ previous, results, situations: SITUATIONS, notTried: listNotTried(results), date });
  await writeFile(PAGE, page);
  await writeFile(README, toReadme(await readFile(README, 'utf8'), page, PROGRAMS));
}

process.exitCode = await main();
