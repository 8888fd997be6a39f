/** Makers whose models only they price: models with open weights cost what each host asks, which no name tells. */
export type ModelMaker = 'anthropic' | 'openai' | 'google';

export interface ModelName {
  maker: ModelMaker;
  /** As the maker writes it, in lower case, without the host's additions. */
  name: string;
  /** Without its release date or the like: the model's name proper. */
  baseName: string;
  /** Named as an Amazon Bedrock model that is bound to a region. */
  isRegional: boolean;
}

const ROUTE = /^(?:openrouter\/|bedrock\/|vertex_ai\/|models\/)?(?:(?:anthropic|openai|google)\/)?/;
const BEDROCK_ARN = /^arn:aws[a-z-]*:bedrock:[^/]*\//;
const BEDROCK_PREFIX = /^(?:(global|us|eu|apac|jp|au|ca|us-gov)\.)?anthropic\./;
const BEDROCK_VERSION = /-v\d+(?::\d+)?$/;
const CONTEXT_SUFFIX = /\[1m\]$/;
const RELEASE =
  /(?:-latest|-\d{8}|-\d{4}-\d{2}-\d{2}|-\d{3}|-(?:preview|exp)(?:-\d{2}-(?:\d{2}|\d{4}))?|-\d{2}-\d{4})$/;

/**
 * Reads a model's name as agents write it: plain, with a context suffix (`[1m]`), as a Bedrock profile or ARN
 * (`us.anthropic.…-v1:0`), as Vertex has it (`…@20250929`), or with a router's prefix (`anthropic/…`).
 * Undefined for models of other makers.
 */
export function parseModelName(model: string): ModelName | undefined {
  let name = model.trim().toLowerCase().replace(BEDROCK_ARN, '').replace(ROUTE, '').replace(CONTEXT_SUFFIX, '');
  const bedrock = BEDROCK_PREFIX.exec(name);
  if (bedrock !== null) name = name.slice(bedrock[0].length).replace(BEDROCK_VERSION, '');
  const maker = toMaker(name);
  if (maker === undefined) return undefined;
  if (maker === 'anthropic') {
    name = name.replace(/@(?:default|latest)$/, '').replace('@', '-');
    // Routers write claude-sonnet-4.5 for claude-sonnet-4-5.
    name = name.replace(/(\d)\.(\d)/, '$1-$2');
  }
  return {
    maker,
    name,
    baseName: name.replace(RELEASE, ''),
    isRegional: bedrock !== null && bedrock[1] !== 'global',
  };
}

/** Who made a model, by its name; undefined for makers that are not known. */
export const findModelMaker = (model: string): ModelMaker | undefined => parseModelName(model)?.maker;

function toMaker(name: string): ModelMaker | undefined {
  if (name.startsWith('claude-')) return 'anthropic';
  if (name.startsWith('gemini-')) return 'google';
  if (/^(?:gpt-(?!oss)|chatgpt-|codex-|o\d(?:-|$))/.test(name)) return 'openai';
  return undefined;
}
