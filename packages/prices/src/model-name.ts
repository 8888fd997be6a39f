/** Makers whose list price applies to a model's plain name. */
export type ModelMaker = 'anthropic' | 'openai' | 'google' | 'x-ai' | 'moonshotai' | 'zai';

/** Hosts with their own prices for open-weight models, recognised by the name's prefix. */
type ModelHost = 'openrouter' | 'groq' | 'cerebras' | 'fireworks';

export interface ModelName {
  /** The host or maker whose price applies. */
  seller: ModelMaker | ModelHost;
  /** As the seller writes it, in lower case, without a host's additions. */
  name: string;
  /** Without a release date or similar suffix. */
  baseName: string;
  /** Served by a host that charges a premium because inference is bound to a region. */
  isRegional: boolean;
}

/**
 * Prefixes of hosts and routers that sell the makers' models at the makers' prices, as LiteLLM, opencode, Pi and Vercel's
 * AI SDK write them. A part that names a region (`bedrock/us-east-1/…`, `azure/eu/…`) goes with the prefix.
 */
const ROUTES = [
  'openrouter',
  'azure(?:_ai|-openai|-cognitive-services)?',
  '(?:amazon-)?bedrock(?:_converse)?(?:/(?:converse|invoke|converse_like))?',
  'vertex(?:_ai)?',
  'google-vertex(?:-anthropic)?',
  'gemini',
  'models',
  'vercel(?:[_-]ai[_-]gateway)?',
  // The models of a subscription have the makers' prices, like the models in Copilot's own sessions.
  'github[_-]copilot',
  // Zen sells these at the makers' prices (opencode.ai/docs/zen, November 2026), but not GPT 5.1, Gemini and others.
  'opencode(?=/(?:claude-|gpt-(?:5[.][2-6]|6)(?:-(?!pro)[^/]+)?$))',
  'openai-codex',
];
const MAKER_PREFIXES = ['anthropic', 'openai', 'google', 'x-ai', 'xai', 'moonshot(?:ai|-ai)?', 'zai', 'z-ai'];
/** `us-east-1`, `us-gov-west-1`; Azure's data zones and `global`. */
const REGION = String.raw`(?:(?:[a-z]{2}(?:-gov)?-[a-z]+-\d|us|eu|global(?:-standard)?)\/)?`;
const ROUTE = new RegExp(`^(?:(?:${ROUTES.join('|')})/${REGION})?(?:(?:${MAKER_PREFIXES.join('|')})/)?`);
/** A premium is charged for Azure's data zones and for Bedrock's regions. */
const BOUND_ROUTE = /^(?:azure\/(?:us|eu)|(?:amazon-)?bedrock[^/]*(?:\/[a-z_]+)?\/[a-z]{2}(?:-gov)?-[a-z]+-\d)\//;
/** As LiteLLM, opencode and the hosts themselves write them. */
const HOSTS: readonly (readonly [prefix: RegExp, host: ModelHost])[] = [
  [/^openrouter\//, 'openrouter'],
  [/^groq\//, 'groq'],
  [/^cerebras\//, 'cerebras'],
  [/^(?:fireworks[_-]ai\/)?(?=accounts\/fireworks\/)/, 'fireworks'],
];
const BEDROCK_ARN = /^arn:aws[a-z-]*:bedrock:[^/]*\//;
const BEDROCK_PREFIX = /^(?:(global|us|eu|apac|jp|au|ca|in|us-gov)\.)?(?:anthropic|openai|xai)\./;
const BEDROCK_VERSION = /-v\d+(?::\d+)?$/;
const CONTEXT_SUFFIX = /\[[12]m\]$/;
const RELEASE =
  /(?:-latest|-\d{8}|-\d{4}-\d{2}-\d{2}|-\d{3}|-(?:preview|exp)(?:-\d{2}-(?:\d{2}|\d{4}))?|-\d{2}-\d{4})$/;

/**
 * Reads a model's name as agents write it, which is plain, with a context suffix (`[1m]`), as a Bedrock profile or ARN
 * (`us.anthropic.…-v1:0`), as on Vertex (`…@20250929`), or with the prefix of a host or router (`anthropic/…`,
 * `bedrock/us-east-1/…`). Each host sets its own price for open-weight models: `openrouter/qwen/qwen3-coder` says whose
 * price applies, `qwen/qwen3-coder` does not. Undefined for models of other makers.
 */
export function parseModelName(model: string): ModelName | undefined {
  const whole = model.trim().toLowerCase().replace(BEDROCK_ARN, '');
  let name = whole.replace(ROUTE, '').replace(CONTEXT_SUFFIX, '');
  const bedrock = BEDROCK_PREFIX.exec(name);
  if (bedrock !== null) name = name.slice(bedrock[0].length).replace(BEDROCK_VERSION, '');
  const seller = toClosedMaker(name);
  if (seller === undefined) return parseOpenModelName(whole);
  if (seller === 'anthropic') {
    name = name.replace(/@(?:default|latest)$/, '').replace('@', '-');
    // Routers write claude-sonnet-4.5 for claude-sonnet-4-5.
    name = name.replace(/(\d)\.(\d)/, '$1-$2');
  }
  return {
    seller,
    name,
    baseName: name.replace(RELEASE, ''),
    isRegional: bedrock === null ? BOUND_ROUTE.test(whole) : bedrock[1] !== 'global',
  };
}

/** The maker of a model, by its name; undefined if unknown. */
export function findModelMaker(model: string): ModelMaker | undefined {
  const seller = parseModelName(model)?.seller;
  return HOSTS.some(([, host]) => host === seller) ? undefined : (seller as ModelMaker | undefined);
}

/**
 * True if the first model is a later generation of the second (`claude-sonnet-4-5` of `claude-3-5-sonnet`, `gpt-5.3-codex`
 * of `gpt-5-codex`, `gpt-5.5` of both), by maker, words and numbers of their names. Releases of one generation do not succeed each other.
 */
export function isLaterGeneration(model: string, other: string): boolean {
  const [one, two] = [toGeneration(model), toGeneration(other)];
  if (one === undefined || two === undefined || one.line !== two.line) return false;
  const length = Math.max(one.version.length, two.version.length);
  for (let index = 0; index < length; index++) {
    const difference = (one.version[index] ?? 0) - (two.version[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/** Words for an edition of a generation, which the next generation replaces with or without such an edition. */
const EDITIONS: ReadonlySet<string> = new Set(['codex', 'max', 'spark']);

function toGeneration(model: string): { line: string; version: number[] } | undefined {
  const parsed = parseModelName(model);
  if (parsed === undefined || findModelMaker(model) === undefined) return undefined;
  const parts = parsed.baseName.split(/[-.]/).filter((part) => !EDITIONS.has(part));
  const { version = [], words = [] } = Object.groupBy(parts, (part) => (/^\d+$/.test(part) ? 'version' : 'words'));
  return { line: `${parsed.seller} ${words.join(' ')}`, version: version.map(Number) };
}

/** Makers that set the price of their models, at any host. */
function toClosedMaker(name: string): ModelMaker | undefined {
  if (name.startsWith('claude-')) return 'anthropic';
  if (name.startsWith('gemini-')) return 'google';
  if (name.startsWith('grok-')) return 'x-ai';
  if (/^(?:gpt-(?!oss)|chatgpt-|codex-|o\d(?:-|$))/.test(name)) return 'openai';
  return undefined;
}

/**
 * Names of open-weight models that are their makers' own: Kimi's, and GLM's from 5 on. Older GLM models are served by
 * many hosts under one name.
 */
const OWN_NAMES: readonly (readonly [name: RegExp, maker: ModelMaker])[] = [
  [/^(?:moonshot(?:ai|-ai)?\/)?((?:kimi|moonshot)-[^/]+)$/, 'moonshotai'],
  [/^(?:z-?ai\/glm-|glm-(?=[5-9]))[^/]+$/, 'zai'],
];

function parseOpenModelName(whole: string): ModelName | undefined {
  for (const [pattern, maker] of OWN_NAMES) {
    if (pattern.test(whole)) return toOpenModelName(maker, whole.replace(/^.*\//, ''));
  }
  const [prefix, host] = HOSTS.find(([prefix]) => prefix.test(whole)) ?? [];
  return prefix === undefined || host === undefined ? undefined : toOpenModelName(host, whole.replace(prefix, ''));
}

function toOpenModelName(seller: ModelName['seller'], name: string): ModelName {
  return { seller, name, baseName: name.replace(RELEASE, ''), isRegional: false };
}
