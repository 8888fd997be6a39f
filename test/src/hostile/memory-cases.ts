import { createRandom } from '../random.ts';

/** A transcript that is to cost as much memory as possible, with lines that repeat one part. */
export interface MemoryCase {
  name: string;
  /** Of the format; the default is Claude Code's. */
  agent?: string;
  /** Beginning of a line before the part is repeated. */
  before: string;
  /** `§` becomes another number each time. */
  part: string;
  after: string;
  /** Number of lines, and the bytes of each. */
  lines: number;
  lineBytes: number;
  /** Lines before the first of them. */
  head?: string;
  /** Also sent as many concurrent live streams, with lines of this many bytes. */
  lineBytesOfMany?: number;
  /** Also sent as a member of archives, and read by MCP and HTTP. */
  isInArchives?: boolean;
}

const MEBIBYTE = 1024 ** 2;
/** Just within the default of `RECOUNT_MAX_LINE_BYTES`. */
const LINE_BYTES = 63 * MEBIBYTE;
const CHUNK_BYTES = 1024 * 1024;

/** Parts of JSON that take much more memory than bytes, or make readers produce much from little. */
const PARTS: Readonly<Record<string, string>> = {
  'empty objects': '{},',
  'empty arrays': '[],',
  'open arrays': '[',
  'open objects': '{"a":',
  'objects of other names': '{"§":0},',
  'numbered objects': '{"999":0},',
  fractions: '1.5,{},',
  'short texts': '"§",',
};

/** Places in a line of Claude Code that hold foreign JSON, and the places of other agents. */
const PLACES: Readonly<Record<string, Pick<MemoryCase, 'before' | 'after' | 'agent' | 'head'>>> = {
  content: { before: '{"type":"user","sessionId":"S","message":{"content":[', after: '0]}}\n' },
  'a tool input': {
    before:
      '{"type":"assistant","sessionId":"S","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"a":[',
    after: '0]}}]}}\n',
  },
  'a tool result': {
    before:
      '{"type":"user","sessionId":"S","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]},"toolUseResult":[',
    after: '0]}\n',
  },
  usage: {
    before: '{"type":"assistant","sessionId":"S","message":{"id":"m","content":[],"usage":{"iterations":[',
    after: '0]}}}\n',
  },
  'an unknown line': { before: '{"type":"unheard of","sessionId":"S","a":[', after: '0]}\n' },
  'a torn line': { before: '{"type":"user","sessionId":"S","message":{"content":[', after: '\n' },
};

const IN_CODEX = {
  agent: 'codex',
  head: '{"type":"session_meta","timestamp":"2026-01-01T00:00:00Z","payload":{"id":"S","timestamp":"2026-01-01T00:00:00Z","cwd":"/a","cli_version":"0.50.0"}}\n',
  before:
    '{"type":"response_item","timestamp":"2026-01-01T00:00:01Z","payload":{"type":"function_call","name":"shell","call_id":"c","arguments":"[',
  after: '0]"}}\n',
};
/** Members of a document are read one at a time, as lines are. */
const IN_GEMINI = {
  agent: 'gemini',
  before:
    '{"sessionId":"S","projectHash":"p","startTime":"2026-01-01T00:00:00Z","messages":[{"id":"1","type":"user","content":"a"},{"id":"2","type":"gemini","content":[',
  after: '0]}]}\n',
};

/** Few large values, many rows from a line, and many lines. */
const OTHERS: readonly MemoryCase[] = [
  { name: 'content of NULs', ...toTextPlace('a'), part: '\\u0000' },
  { name: 'content of NULs and text', ...toTextPlace('a'), part: '\\u0000a' },
  { name: 'content of halves of pairs', ...toTextPlace('a'), part: '\\ud800a' },
  { name: 'content of text in two bytes', ...toTextPlace('€'), part: 'a' },
  { name: 'content of invalid UTF-8', ...toTextPlace('a'), part: '\u00ff' },
  { name: 'content of line feeds', ...toTextPlace('a'), part: '\\n' },
  { name: 'content of blocks', ...place('content'), part: '{"type":"text","text":"a"},', lines: 1 },
  {
    name: 'content of results',
    ...place('content'),
    part: '{"type":"tool_result","tool_use_id":"§","content":"a"},',
    lines: 1,
  },
  {
    name: 'content of calls',
    ...place('content'),
    part: '{"type":"tool_use","id":"§","name":"Bash","input":{"command":"ls §"}},',
    lines: 1,
  },
  {
    name: 'large inputs',
    ...place('content'),
    part: `{"type":"tool_use","id":"§","name":"Bash","input":{"a":"${'x'.repeat(200_000)}"}},`,
    lines: 1,
  },
  { name: 'glued objects', before: '', part: '{"type":"user","message":{"content":"a"}}', after: '\n', lines: 1 },
  {
    name: 'many results',
    before: '{"type":"user","sessionId":"S","message":{"content":[{"type":"tool_result","tool_use_id":"§","content":"',
    part: 'x',
    after: '"}]}}\n',
    lines: 400,
    lineBytes: 250_000,
  },
  {
    name: 'long ids',
    before: '{"type":"assistant","sessionId":"S","uuid":"§',
    part: 'x',
    after: '","message":{"id":"§","content":[]}}\n',
    lines: 8,
    lineBytes: 30 * MEBIBYTE,
  },
  {
    name: 'short lines',
    before: '',
    part: '{}\n',
    after: '',
    lines: 1,
    lineBytes: MEBIBYTE,
    lineBytesOfMany: 128 * 1024,
  },
  {
    name: 'short messages',
    before: '',
    part: '{"type":"assistant","message":{"id":"§","content":[],"usage":{"output_tokens":1}}}\n',
    after: '',
    lines: 1,
    lineBytes: 4 * MEBIBYTE,
  },
  { name: 'one dense line', ...place('content'), part: '{},', lines: 1, lineBytesOfMany: 9 * MEBIBYTE },
  { name: 'one long text', ...toTextPlace('€'), part: 'a', lines: 1, lineBytesOfMany: 9 * MEBIBYTE },
  { name: 'a head of open arrays', ...place('content'), part: '[', lines: 1, lineBytes: 3.9 * MEBIBYTE },
  { name: 'dense lines just below the count', ...place('content'), part: '{},', lines: 60, lineBytes: 499_000 },
  {
    name: 'prompts of many blocks',
    ...place('content'),
    part: `{"type":"text","text":"€${'x'.repeat(400)}"},`,
    lines: 320,
    lineBytes: 430_000,
  },
  {
    name: 'metadata of controls',
    before: `{"type":"system","sessionId":"S","content":"","compactMetadata":{${toLongFields('a')}},"origin":{${toLongFields('b')}},"forkedFrom":{${toLongFields('c')}},"uuid":"§`,
    part: 'x',
    after: '"}\n',
    lines: 400,
    lineBytes: 100,
  },
  { name: 'results of controls', ...toResultPlace(), part: '\\u0001', lines: 64, lineBytes: 1_500_000 },
  { name: 'results of other directions', ...toResultPlace(), part: '\u202e', lines: 200, lineBytes: 260_000 },
  {
    name: 'dense inputs of edits',
    before:
      '{"type":"assistant","sessionId":"S","uuid":"§","message":{"id":"§","content":[{"type":"tool_use","id":"t§","name":"MultiEdit","input":{"edits":[',
    part: '{},',
    after: '0]}}]}}\n',
    lines: 200,
    lineBytes: 190_000,
  },
  {
    name: 'short prompts',
    before: '',
    part: `{"type":"user","sessionId":"S","uuid":"§","message":{"content":"${'word '.repeat(40)}"}}\n`,
    after: '',
    lines: 1,
    lineBytes: 56 * MEBIBYTE,
    isInArchives: true,
  },
].map((each) => ({
  lines: 3,
  lineBytes: LINE_BYTES,
  // Without a parameter that names it, a file of lines without a session is not recognised.
  isInArchives: each.before.includes('"sessionId"'),
  ...each,
}));

function toTextPlace(begin: string): Pick<MemoryCase, 'before' | 'after'> {
  return { before: `{"type":"user","sessionId":"S","message":{"content":"${begin}`, after: '"}}\n' };
}

/** The text of a result. */
function toResultPlace(): Pick<MemoryCase, 'before' | 'after'> {
  return {
    before: '{"type":"user","sessionId":"S","message":{"content":[{"type":"tool_result","tool_use_id":"§","content":"',
    after: '"}]}}\n',
  };
}

/** As many and as long fields as a message's metadata keeps, of control characters. */
function toLongFields(name: string): string {
  return Array.from({ length: 32 }, (_, index) => `"${name}${index}":"${'\\u0001'.repeat(512)}"`).join(',');
}

/** All fixed cases, and as many random ones, with parts of JSON in random order at random places. */
export function toMemoryCases(seed: number, randomCases: number): MemoryCase[] {
  const random = createRandom(seed);
  const sizes = { lines: 1, lineBytes: LINE_BYTES };
  const fixed = Object.entries(PARTS).map(([name, part]) => ({
    name: `content of ${name}`,
    ...place('content'),
    part,
    ...sizes,
  }));
  const elsewhere = Object.keys(PLACES).map((name) => ({
    name: `${name} of empty objects`,
    ...place(name),
    part: '{},',
    ...sizes,
  }));
  const nested = [IN_CODEX, IN_GEMINI].map((each) => ({
    name: `${each.agent}, of empty objects`,
    ...each,
    part: '{},',
    ...sizes,
  }));
  const mixed = Array.from({ length: randomCases }, () => {
    const name = random.pick(Object.keys(PLACES));
    const part = Array.from({ length: random.integer(1, 4) }, () => random.pick(Object.values(PARTS))).join('');
    const lines = random.integer(1, 3);
    return { name: `${name} of ${part}`, ...place(name), part, lines, lineBytes: random.integer(8, 150) * MEBIBYTE };
  });
  return [...fixed, ...elsewhere, ...nested, ...OTHERS, ...mixed];
}

function place(name: string): Pick<MemoryCase, 'before' | 'after' | 'agent' | 'head'> {
  return PLACES[name] ?? { before: '', after: '\n' };
}

/** The transcript's bytes. Its last line is a separate message, which must be read whatever comes before it. */
export function* toTranscript(each: MemoryCase, session: string): Generator<Buffer> {
  let count = 0;
  const fill = (text: string): string =>
    text.replaceAll('§', () => (count++).toString(36)).replaceAll('"S"', `"${session}"`);
  const encode = (text: string): Buffer => Buffer.from(text, text.includes('\u00ff') ? 'latin1' : 'utf8');
  if (each.head !== undefined) yield encode(fill(each.head));
  for (let line = 0; line < each.lines; line++) {
    yield encode(fill(each.before));
    const copies = Math.max(1, Math.floor(CHUNK_BYTES / each.part.length));
    const isFixed = !each.part.includes('§');
    const whole = encode(each.part.repeat(copies));
    for (let bytes = 0; bytes < each.lineBytes; ) {
      const chunk = isFixed ? whole : encode(fill(each.part.repeat(copies)));
      yield bytes + chunk.length <= each.lineBytes
        ? chunk
        : encode(fill(each.part.repeat(Math.max(1, Math.floor((each.lineBytes - bytes) / each.part.length)))));
      bytes += chunk.length;
    }
    yield encode(fill(each.after));
  }
  if (each.agent === undefined)
    yield Buffer.from(`{"type":"user","sessionId":"${session}","uuid":"last","message":{"content":"the last line"}}\n`);
}
