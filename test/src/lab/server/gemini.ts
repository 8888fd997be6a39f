import { type Reply, toEvent, type Wire } from './exchange.ts';
import { type Fields, isFields, toFields, toList, toText } from './json.ts';

const MODEL_IN_PATH = /\/models\/([^/:]+):(\w+)/;

function toAnswer(reply: Reply, parts: Fields[], isLast: boolean): Fields {
  const { tokens } = reply;
  const prompt = tokens.input + tokens.cacheRead + tokens.cacheWrite;
  return {
    responseId: reply.responseId,
    modelVersion: reply.model,
    candidates: [{ index: 0, content: { role: 'model', parts }, ...(isLast ? { finishReason: 'STOP' } : {}) }],
    usageMetadata: {
      promptTokenCount: prompt,
      cachedContentTokenCount: tokens.cacheRead,
      candidatesTokenCount: tokens.output - tokens.reasoning,
      thoughtsTokenCount: tokens.reasoning,
      totalTokenCount: prompt + tokens.output,
    },
  };
}

const toTextParts = ({ text }: Reply): Fields[] => (text === '' ? [] : [{ text }]);
const toCallParts = ({ calls }: Reply): Fields[] =>
  calls.map(({ id, name, input }) => ({ functionCall: { id, name, args: input } }));

/** The Gemini API of Google. Thoughts are counted beside the output, and cached input within the prompt. */
export const gemini: Wire = {
  name: 'gemini',
  readRequest(body, url) {
    const [, model = '', method = ''] = MODEL_IN_PATH.exec(url.pathname) ?? [];
    const declarations = toList(body.tools).flatMap((tool) => toList(toFields(tool).functionDeclarations));
    return {
      model,
      isStream: method === 'streamGenerateContent',
      userTexts: toList(body.contents)
        .map(toFields)
        .filter(({ role }) => role === 'user' || role === undefined)
        .flatMap(({ parts }) => toList(parts).filter(isFields))
        .map(({ text }) => toText(text))
        .filter((text) => text !== ''),
      offeredTools: declarations.map((declaration) => toText(toFields(declaration).name)),
    };
  },
  toBody: (reply) => toAnswer(reply, [...toTextParts(reply), ...toCallParts(reply)], true),
  toEvents: (reply) => ({
    head: reply.text === '' ? [] : [toEvent(toAnswer(reply, toTextParts(reply), false))],
    tail: [toEvent(toAnswer(reply, toCallParts(reply), true))],
  }),
  toError: (status, message) => ({
    error: { code: status, status: status === 429 ? 'RESOURCE_EXHAUSTED' : 'UNAVAILABLE', message },
  }),
  newId: (seed) => ({ responseId: `lab${seed}`, callId: (index) => `call_${seed}${index}` }),
};
