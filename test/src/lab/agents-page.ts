import { type AgentResult, formatRows, isRight, readTable, toTable } from './table.ts';

const HEAD = `# Agents in the lab

\`pnpm lab\` installs the newest program of each vendor from npm, runs it headless against a fake API on this machine,
and compares what recount reads in its files with what that API answered, with the tokens of each class, models, prompts,
texts, tool calls and their results. It reads them by \`recount parse\`, by \`recount usage\`, from a database after an
upload, and in the live stream where recount knows one. "right" means that everything is equal to the token; an agent's
verified version is the last one that was right in all situations. The command writes this page.
`;

const TABLE_START = /^\| agent /m;
const VERIFIED_COLUMN = 3;
const DIFFERENCES = '## What differs';
const NOT_TRIED = '## Not tried';

/** Of a situation; the command prints all. */
const MAX_LINES = 3;

export interface PageInput {
  /** The page as it is. Rows of agents that were not run stay. */
  previous: string | undefined;
  results: readonly AgentResult[];
  situations: readonly { id: string; label: string }[];
  /** Reasons by agent and situation, including programs that were not run. */
  notTried: readonly { label: string; what: string; reason: string }[];
  /** \`2026-11-27\` */
  date: string;
}

/** The page with the newest result of each agent. Rows keep their place on the page; agents new to it come last. */
export function toAgentsPage({ previous = '', results, situations, notTried, date }: PageInput): string {
  const run = results.filter(({ cells }) => cells.length > 0);
  const labels = run.map(({ label }) => label);
  const isOther = (label: string | undefined): boolean => label !== undefined && !labels.includes(label);
  const before = readRows(previous);
  const toVerified = (result: AgentResult): string =>
    (isRight(result) ? result.version : before.find(([label]) => label === result.label)?.[VERIFIED_COLUMN]) ?? '–';
  const [head = [], ...rows] = toTable(run, situations, date, toVerified);
  const byLabel = new Map(
    [...before.filter(({ length }) => length === head.length), ...rows].map((row) => [row[0], row]),
  );
  const lines = run.flatMap(({ label, version, cells }) =>
    cells.flatMap(({ situation, reason, differences, verdict }) => {
      const name = situations.find(({ id }) => id === situation)?.label ?? situation;
      const texts =
        verdict === 'failed' ? [`failed: ${reason}`] : differences.map(({ way, text }) => `${way}: ${text}`);
      const more = texts.length > MAX_LINES ? [`and ${texts.length - MAX_LINES} more`] : [];
      return [...texts.slice(0, MAX_LINES), ...more].map((text) => `- **${label}** ${version}, ${name}: ${text}`);
    }),
  );
  const keptLines = previous.split('\n').filter((line) => isOther(/^- \*\*(.+?)\*\* /.exec(line)?.[1]));
  const differences = [...lines, ...keptLines];
  return [
    HEAD,
    formatRows([head, ...byLabel.values()]),
    ...(differences.length === 0 ? [] : ['', DIFFERENCES, '', ...differences]),
    '',
    NOT_TRIED,
    '',
    formatRows([['agent', 'what', 'why'], ...notTried.map(({ label, what, reason }) => [label, what, reason])]),
    '',
  ].join('\n');
}

/** Rows of the page's table of agents, without its head. */
function readRows(page: string): string[][] {
  const start = page.search(TABLE_START);
  return start === -1 ? [] : readTable(page.slice(start)).slice(1);
}

/** The verified version of each agent, by its label. */
export function readVerified(page: string): Map<string, string> {
  return new Map(readRows(page).map((row) => [row[0] ?? '', row[VERIFIED_COLUMN] ?? '–']));
}
