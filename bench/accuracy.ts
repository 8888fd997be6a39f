import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { parseArgs, promisify } from 'node:util';
import {
  type ApiResponse,
  flatDefaultPrices,
  IDENTIFY_HEAD_BYTES,
  identifyTranscript,
  type PriceTable,
  parseTranscript,
} from '@recount/core';
import { createListPrices } from '@recount/prices';
import { readSources } from '@recount/storage/sources';
import { addTo, emptyFigures, type Figures, toFigures } from './accuracy/figures.ts';
import { sumEveryLine } from './accuracy/sum-every-line.ts';

const CCUSAGE_VERSION = '20.0.24';

interface Transcript {
  sessionId: string;
  bytes: Buffer;
}

const prices = createListPrices();
/** The rules that other tools count by, each with recount's other rules kept. */
const PRICING_RULES: Record<string, PriceTable['price']> = {
  'one flat rate for all models': (query) => flatDefaultPrices.price(query),
  'all cache writes at the 5-minute rate': ({ usage, ...query }) =>
    prices.price({ ...query, usage: { ...usage, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 } }),
  'no speed, geography or tier': ({ usage, ...query }) =>
    prices.price({ ...query, usage: { ...usage, speed: null, inferenceGeo: null, serviceTier: null } }),
};

const { values, positionals } = parseArgs({ options: { ccusage: { type: 'boolean' } }, allowPositionals: true });
const [path = '../shared/corpus'] = positionals;
const transcripts = await readTranscripts(path);
const held = await Promise.all(transcripts.map(async (each) => await parseResponses(each, 'final')));
const ledger = onlyOnce(held.flat());
const first = onlyOnce((await Promise.all(transcripts.map((each) => parseResponses(each, 'first')))).flat());
const recount = sum(ledger);
const rows: [string, Figures][] = [
  ['**recount**', recount],
  ['first line of each message', sum(first)],
  ['sum of all lines', transcripts.map(({ bytes }) => sumEveryLine(bytes, prices)).reduce(addTo, emptyFigures())],
  ['every copy in every file', sum(held.flat())],
  ['messages alone, no progress lines', sum(ledger.filter(({ source }) => source === 'message'))],
  ...Object.entries(PRICING_RULES).map(([rule, price]): [string, Figures] => [
    rule,
    ledger.map((each) => toFigures(each, price)).reduce(addTo, emptyFigures()),
  ]),
];
console.log(`${transcripts.length} transcripts, ${ledger.length} API responses, prices ${prices.version}\n`);
console.log('| rule | responses | input | output | cache read | cache write | cost | of recount |');
console.log('| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |');
for (const [rule, figures] of rows) console.log(toRow(rule, figures));
printUnfinalised();
if (values.ccusage) await compareWithCcusage();

/** Claude Code transcripts below the path, without those that are the beginning of a longer one. */
async function readTranscripts(root: string): Promise<Transcript[]> {
  const bySession = new Map<string, Buffer[]>();
  for await (const item of readSources([root])) {
    if (item.kind !== 'transcript') continue;
    const bytes = await buffer(await item.open());
    const identity = identifyTranscript({ path: item.path, head: bytes.subarray(0, IDENTIFY_HEAD_BYTES) });
    if (identity.format !== 'claude-code') continue;
    const sessionId = identity.sessionId ?? item.path;
    bySession.set(sessionId, [...(bySession.get(sessionId) ?? []), bytes]);
  }
  return [...bySession].flatMap(([sessionId, versions]) =>
    versions
      .filter((bytes, index) => !versions.some((other, at) => at !== index && isBeginning(bytes, other, index < at)))
      .map((bytes) => ({ sessionId, bytes })),
  );
}

function isBeginning(bytes: Buffer, other: Buffer, isEarlier: boolean): boolean {
  const mayBe = bytes.length < other.length || (bytes.length === other.length && !isEarlier);
  return mayBe && other.subarray(0, bytes.length).equals(bytes);
}

async function parseResponses({ sessionId, bytes }: Transcript, usageFrom: 'first' | 'final'): Promise<ApiResponse[]> {
  return (await parseTranscript(sessionId, bytes, { prices, usageFrom })).apiResponses;
}

/** Of the copies of a response the most complete one, as in the usage ledger. */
function onlyOnce(responses: readonly ApiResponse[]): ApiResponse[] {
  const byKey = new Map<string, ApiResponse>();
  for (const response of responses) {
    const known = byKey.get(response.response_key);
    if (known === undefined || isMoreComplete(response, known)) byKey.set(response.response_key, response);
  }
  return [...byKey.values()];
}

function isMoreComplete(a: ApiResponse, b: ApiResponse): boolean {
  if (a.is_unfinalised !== b.is_unfinalised) return b.is_unfinalised;
  return a.tokens_out > b.tokens_out;
}

function sum(responses: readonly ApiResponse[]): Figures {
  return responses.map((response) => toFigures(response, (query) => prices.price(query))).reduce(addTo, emptyFigures());
}

function toRow(rule: string, figures: Figures): string {
  const count = (value: number) => value.toLocaleString('en');
  const percent = `${((100 * figures.costUsd) / recount.costUsd).toFixed(1)} %`;
  const { responses, tokensIn, tokensOut, cacheRead, cacheWrite, costUsd } = figures;
  return `| ${rule} | ${[responses, tokensIn, tokensOut, cacheRead, cacheWrite].map(count).join(' | ')} | $${costUsd.toFixed(2)} | ${percent} |`;
}

function printUnfinalised(): void {
  const unfinalised = ledger.filter(({ is_unfinalised }) => is_unfinalised);
  const estimated = unfinalised.reduce((total, { estimated_tokens_out }) => total + (estimated_tokens_out ?? 0), 0);
  const placeholders = unfinalised.reduce((total, { tokens_out }) => total + tokens_out, 0);
  console.log(
    `\nUnfinalised: ${unfinalised.length} responses with ${placeholders} output tokens; estimated from their content: ${estimated}`,
  );
}

/** Days and models on which ccusage gives other tokens or another cost. */
async function compareWithCcusage(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'recount-accuracy-'));
  try {
    for (const [index, { sessionId, bytes }] of transcripts.entries()) {
      const folder = join(directory, 'projects', `project-${index}`);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, `${sessionId.replaceAll(/[^\w-]/g, '_')}.jsonl`), bytes);
    }
    const command = ['-y', `ccusage@${CCUSAGE_VERSION}`, 'claude', 'daily', '--json', '--offline'];
    const { stdout } = await promisify(execFile)('npx', [...command, '--mode', 'calculate', '--timezone', 'UTC'], {
      env: { ...process.env, CLAUDE_CONFIG_DIR: directory },
      maxBuffer: 64 * 1024 * 1024,
    });
    printComparison(JSON.parse(stdout).daily);
  } finally {
    await rm(directory, { recursive: true });
  }
}

interface CcusageDay {
  date: string;
  modelBreakdowns: Record<
    'modelName' | 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheCreationTokens' | 'cost',
    never
  >[];
}

function printComparison(days: CcusageDay[]): void {
  const theirs = new Map<string, Figures>();
  for (const { date, modelBreakdowns } of days) {
    for (const each of modelBreakdowns) {
      theirs.set(`${date} ${each.modelName}`, {
        ...{ responses: 0, tokensIn: each.inputTokens, tokensOut: each.outputTokens, cacheRead: each.cacheReadTokens },
        ...{ cacheWrite: each.cacheCreationTokens, costUsd: each.cost },
      });
    }
  }
  const ours = new Map<string, Figures>();
  for (const response of ledger) {
    const key = `${response.timestamp?.slice(0, 10)} ${response.model}`;
    ours.set(
      key,
      addTo(
        ours.get(key) ?? emptyFigures(),
        toFigures(response, (query) => prices.price(query)),
      ),
    );
  }
  const keys = [...new Set([...ours.keys(), ...theirs.keys()])].sort();
  const tokens = (figures = emptyFigures()) =>
    [figures.tokensIn, figures.tokensOut, figures.cacheRead, figures.cacheWrite].join(' / ');
  console.log(`\n${keys.length} days and models; different from ccusage ${CCUSAGE_VERSION}:\n`);
  console.log('| day and model | recount: tokens | ccusage: tokens | recount | ccusage |');
  console.log('| --- | --- | --- | ---: | ---: |');
  for (const key of keys) {
    const [mine, other] = [ours.get(key), theirs.get(key)];
    const isCostEqual = Math.abs((mine?.costUsd ?? 0) - (other?.costUsd ?? 0)) < 1e-6;
    if (tokens(mine) === tokens(other) && isCostEqual) continue;
    const usd = (figures?: Figures) => `$${(figures?.costUsd ?? 0).toFixed(4)}`;
    const equal = tokens(mine) === tokens(other) ? 'the same' : tokens(other);
    console.log(`| ${key} | ${tokens(mine)} | ${equal} | ${usd(mine)} | ${usd(other)} |`);
  }
}
