import { buffer } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
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
import {
  type AgentFile,
  type LayOut,
  layOutAsNamed,
  layOutClaudeCode,
  layOutCodex,
  layOutCopilot,
  layOutOpencode,
  readVector,
} from './accuracy/agent-homes.ts';
import { CCUSAGE_VERSION } from './accuracy/ccusage.ts';
import { compareWithCcusage } from './accuracy/compare.ts';
import { addTo, emptyFigures, type Figures, toFigures } from './accuracy/figures.ts';
import { sumEveryLine } from './accuracy/sum-every-line.ts';

interface Transcript extends AgentFile {
  format: string;
  sessionId: string;
}

const prices = createListPrices();
/** The counting rules of other tools, each with recount's other rules kept. */
const PRICING_RULES: Record<string, PriceTable['price']> = {
  'one flat rate for all models': (query) => flatDefaultPrices.price(query),
  'all cache writes at the 5-minute rate': ({ usage, ...query }) =>
    prices.price({ ...query, usage: { ...usage, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 } }),
  'no speed, geography or tier': ({ usage, ...query }) =>
    prices.price({ ...query, usage: { ...usage, speed: null, inferenceGeo: null, serviceTier: null } }),
};

const { values, positionals } = parseArgs({ options: { ccusage: { type: 'boolean' } }, allowPositionals: true });
const [path = '../shared/corpus'] = positionals;
const all = await readTranscripts(path);
const transcripts = all.filter(({ format }) => format === 'claude-code');
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
if (values.ccusage) await compareAgents();

/** Transcripts below the path, without those that are the beginning of a longer one. */
async function readTranscripts(root: string): Promise<Transcript[]> {
  const bySession = new Map<string, Transcript[]>();
  for await (const item of readSources([root])) {
    if (item.kind !== 'transcript') continue;
    const transcript = identify({ path: item.path, bytes: await buffer(await item.open()) });
    if (transcript === undefined) continue;
    const key = `${transcript.format}\n${transcript.sessionId}`;
    bySession.set(key, [...(bySession.get(key) ?? []), transcript]);
  }
  return [...bySession.values()].flatMap((versions) =>
    versions.filter(
      ({ bytes }, index) => !versions.some((other, at) => at !== index && isBeginning(bytes, other.bytes, index < at)),
    ),
  );
}

function identify({ path, bytes }: AgentFile): Transcript | undefined {
  const { format, sessionId } = identifyTranscript({ path, head: bytes.subarray(0, IDENTIFY_HEAD_BYTES) });
  return format === undefined ? undefined : { path, bytes, format, sessionId: sessionId ?? path };
}

function isBeginning(bytes: Buffer, other: Buffer, isEarlier: boolean): boolean {
  const mayBe = bytes.length < other.length || (bytes.length === other.length && !isEarlier);
  return mayBe && other.subarray(0, bytes.length).equals(bytes);
}

async function parseResponses(transcript: Transcript, usageFrom: 'first' | 'final'): Promise<ApiResponse[]> {
  const { sessionId, bytes, format } = transcript;
  return (await parseTranscript(sessionId, bytes, { format, prices, usageFrom })).apiResponses;
}

/** The most complete copy of each response, as in the usage ledger. */
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

/** Exits with 1 if a difference is not explained. */
async function compareAgents(): Promise<void> {
  console.log(`\nAgainst ccusage ${CCUSAGE_VERSION}; tokens: input without cache / output / cache read / cache write`);
  const ofFormat = (wanted: string) => all.filter(({ format }) => format === wanted);
  const ofVector = async (id: string) => (await readVector(id)).flatMap((file) => identify(file) ?? []);
  const compared: [string, string[], LayOut, Transcript[]][] = [
    ['claude-code', ['claude', 'daily', '--mode', 'calculate'], layOutClaudeCode, transcripts],
    ['codex', ['codex', 'daily'], layOutCodex, ofFormat('codex-rollout')],
    ['opencode', ['opencode', 'daily'], layOutOpencode, ofFormat('opencode-export')],
    ['copilot', ['copilot', 'daily'], layOutCopilot, ofFormat('copilot-cli')],
    ['pi', ['pi', 'daily'], layOutAsNamed, await ofVector('pi-fork-of-a-fork')],
    ['gemini', ['gemini', 'daily'], layOutAsNamed, await ofVector('gemini-rewritten')],
  ];
  let unexplained = 0;
  for (const [agent, command, layOut, files] of compared) {
    const responses = onlyOnce((await Promise.all(files.map((each) => parseResponses(each, 'final')))).flat());
    unexplained += await compareWithCcusage({ agent, command, layOut, files, responses });
  }
  console.log(`\n${unexplained} differences are not explained.`);
  if (unexplained > 0) process.exitCode = 1;
}
