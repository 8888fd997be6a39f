import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

/**
 * Renders a Helm chart's templates, for the part of the language that deploy/helm uses: values, `if`, `with`, `range`
 * over maps, `define`, `include`, and the functions below. Throws for anything else, so that the chart stays within it.
 */
export async function renderChart(
  folder: string,
  values: Record<string, unknown> = {},
  releaseName = 'recount',
): Promise<Map<string, string>> {
  const read = (name: string): Promise<string> => readFile(join(folder, name), 'utf8');
  const names = (await readdir(join(folder, 'templates'))).sort();
  const templates = new Map<string, Node[]>();
  const files = new Map<string, Node[]>();
  for (const name of names) {
    files.set(name, parseBlock(tokenize(await read(`templates/${name}`)), templates));
  }
  const about = parse(await read('Chart.yaml')) as { name: string; version: string; appVersion: string };
  const root = {
    Values: merge(parse(await read('values.yaml')) as Record<string, unknown>, values),
    Chart: { Name: about.name, Version: about.version, AppVersion: about.appVersion },
    Release: { Name: releaseName, Service: 'Helm', Namespace: 'default' },
  };
  const rendered = names.filter((name) => !name.startsWith('_'));
  return new Map(
    rendered.map((name) => [name, run(files.get(name) ?? [], { dot: root, names: new Map(), templates })]),
  );
}

type Node =
  | { kind: 'text'; text: string }
  | { kind: 'value'; expression: string }
  | { kind: 'if' | 'with' | 'range'; expression: string; body: Node[] };

interface Scope {
  dot: unknown;
  /** Variables, such as `$name`. */
  names: ReadonlyMap<string, unknown>;
  templates: ReadonlyMap<string, Node[]>;
}

type Token = { text: string } | { action: string };

/** A hyphen beside a brace takes the white space on that side away. */
function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  let from = 0;
  let isTrimmed = false;
  for (const match of source.matchAll(/\{\{(- )?\s*(.*?)\s*( -)?\}\}/gs)) {
    let text = source.slice(from, match.index);
    if (isTrimmed) text = text.trimStart();
    tokens.push({ text: match[1] === undefined ? text : text.trimEnd() }, { action: match[2] ?? '' });
    isTrimmed = match[3] !== undefined;
    from = match.index + match[0].length;
  }
  const rest = source.slice(from);
  return [...tokens, { text: isTrimmed ? rest.trimStart() : rest }];
}

/** Takes the tokens up to the block's end. Definitions go to `templates`. */
function parseBlock(tokens: Token[], templates: Map<string, Node[]>): Node[] {
  const nodes: Node[] = [];
  for (let token = tokens.shift(); token !== undefined; token = tokens.shift()) {
    if ('text' in token) {
      nodes.push({ kind: 'text', text: token.text });
      continue;
    }
    if (token.action === 'end') return nodes;
    const [, word, rest = ''] = /^(if|with|range|define|else|block|template)\b\s*(.*)$/s.exec(token.action) ?? [];
    if (word === 'if' || word === 'with' || word === 'range') {
      nodes.push({ kind: word, expression: rest, body: parseBlock(tokens, templates) });
    } else if (word === 'define') templates.set(JSON.parse(rest) as string, parseBlock(tokens, templates));
    else if (word === undefined) nodes.push({ kind: 'value', expression: token.action });
    else throw new Error(`The test's renderer does not know ${word}`);
  }
  return nodes;
}

function run(nodes: readonly Node[], scope: Scope): string {
  return nodes.map((node) => runNode(node, scope)).join('');
}

function runNode(node: Node, scope: Scope): string {
  if (node.kind === 'text') return node.text;
  if (node.kind === 'value') return String(evaluate(node.expression, scope));
  if (node.kind === 'range') {
    const [, key = '', value = '', of = ''] = /^(\$\w+), (\$\w+) := (.*)$/.exec(node.expression) ?? [];
    if (key === '') throw new Error(`The test's renderer does not know range ${node.expression}`);
    const entries = Object.entries(evaluate(of, scope) as object).sort(([a], [b]) => (a < b ? -1 : 1));
    return entries
      .map(([name, each]) => ({ ...scope, dot: each, names: new Map([...scope.names, [key, name], [value, each]]) }))
      .map((inner) => run(node.body, inner))
      .join('');
  }
  const condition = evaluate(node.expression, scope);
  if (isEmpty(condition)) return '';
  return run(node.body, node.kind === 'with' ? { ...scope, dot: condition } : scope);
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === 0 ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);

const FUNCTIONS: Record<string, (scope: Scope, ...values: never[]) => unknown> = {
  quote: (_scope, value: unknown) => JSON.stringify(String(value)),
  default: (_scope, fallback: unknown, value: unknown) => (isEmpty(value) ? fallback : value),
  toYaml: (_scope, value: unknown) => stringify(value).trimEnd(),
  nindent: (_scope, width: number, text: string) => `\n${text.replaceAll(/^/gm, ' '.repeat(width))}`,
  printf: (_scope, format: string, ...values: unknown[]) => format.replaceAll('%s', () => String(values.shift())),
  include: ({ templates, names }, name: string, dot: unknown) => {
    const nodes = templates.get(name);
    if (nodes === undefined) throw new Error(`There is no template ${name}`);
    return run(nodes, { dot, names, templates });
  },
};

/** A pipeline. The result of each command is the last argument of the next one. */
function evaluate(expression: string, scope: Scope): unknown {
  const words = [...expression.matchAll(/"(?:[^"\\]|\\.)*"|\(|\)|\||[^\s()|]+/g)].map(([word]) => word);
  const result = evaluatePipeline(words, scope);
  if (words.length > 0) throw new Error(`The test's renderer does not know ${expression}`);
  return result;
}

/** Takes the words up to the end, or to a closing bracket. */
function evaluatePipeline(words: string[], scope: Scope): unknown {
  let piped: unknown[] = [];
  for (;;) {
    const terms: unknown[] = [];
    const [name = ''] = words;
    const call = FUNCTIONS[name];
    if (call !== undefined) words.shift();
    while (words.length > 0 && words[0] !== '|' && words[0] !== ')') terms.push(evaluateTerm(words, scope));
    const [value] = terms;
    if (call === undefined && (terms.length !== 1 || piped.length > 0)) throw new Error(`No function ${name}`);
    piped = [call === undefined ? value : call(scope, ...([...terms, ...piped] as never[]))];
    const end = words.shift();
    if (end !== '|') return piped[0];
  }
}

function evaluateTerm(words: string[], { dot, names, ...rest }: Scope): unknown {
  const word = words.shift() ?? '';
  if (word === '(') return evaluatePipeline(words, { dot, names, ...rest });
  if (word.startsWith('"')) return JSON.parse(word);
  if (/^\d+$/.test(word)) return Number(word);
  if (names.has(word)) return names.get(word);
  if (!/^(\.|(\.\w+)+)$/.test(word)) throw new Error(`The test's renderer does not know ${word}`);
  return word
    .split('.')
    .filter((name) => name !== '')
    .reduce<unknown>((value, name) => {
      const found = (value as Record<string, unknown> | undefined)?.[name];
      if (found === undefined) throw new Error(`There is no value ${word}`);
      return found;
    }, dot);
}

/** Lays given values over the chart's own, as Helm does. */
function merge(base: Record<string, unknown>, over: Record<string, unknown>): Record<string, unknown> {
  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const merged = Object.entries(over).map(([name, value]) => {
    const below = base[name];
    return [name, isMap(below) && isMap(value) ? merge(below, value) : value];
  });
  return { ...base, ...Object.fromEntries(merged) };
}
