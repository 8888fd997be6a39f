import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import type { BlockContent, ConfirmationPrompt, Prompt, PromptRecord, Question } from '../../records/records.ts';

/** More than a person would answer. */
const MAX_QUESTIONS = 20;
const MAX_OPTIONS = 50;

/** The prompts to the user on this line (tool uses that ask, permission requests, and denials). */
export function* toPromptRecords(line: JsonObject, blocks: readonly BlockContent[]): Generator<PromptRecord> {
  for (const block of blocks) {
    const prompt = toBlockPrompt(block);
    if (prompt !== undefined) yield { kind: 'prompt', prompt };
  }
  for (const prompt of toLinePrompts(line)) if (prompt !== undefined) yield { kind: 'prompt', prompt };
}

function toLinePrompts(line: JsonObject): (Prompt | undefined)[] {
  if (line.type === 'control_request') return [toControlPrompt(line)];
  if (line.type === 'system' && line.subtype === 'permission_denied') return [toDenialPrompt(line)];
  const isResult = line.type === 'result' && Array.isArray(line.permission_denials);
  return isResult ? (line.permission_denials as JsonValue[]).map(toDenialPrompt) : [];
}

function toBlockPrompt({ toolUse, tool_use_id, tool_name, tool_input }: BlockContent): Prompt | undefined {
  return toolUse && toToolPrompt(tool_use_id, tool_name, tool_input);
}

/** The prompt of a tool use that asks the user something, such as a question, or a plan to approve. */
function toToolPrompt(
  toolUseId: string | null,
  toolName: string | null,
  input: JsonValue,
  requestId: string | null = null,
): Prompt | undefined {
  if (toolName === 'AskUserQuestion') return { kind: 'question', toolUseId, requestId, questions: toQuestions(input) };
  if (toolName !== 'ExitPlanMode' && toolName !== 'exit_plan_mode') return undefined;
  const message = readText(readObject(input)?.plan);
  return { kind: 'confirmation', reason: 'plan_approval', toolUseId, requestId, toolName, toolInput: input, message };
}

/** The prompt of a `control_request` line. The agent waits for permission to use a tool. */
function toControlPrompt(line: JsonObject): Prompt | undefined {
  const request = readObject(line.request);
  if (request?.subtype !== 'can_use_tool') return undefined;
  const requestId = readText(line.request_id);
  const prompt = toConfirmation('permission_request', request);
  return toToolPrompt(prompt.toolUseId, prompt.toolName, prompt.toolInput, requestId) ?? { ...prompt, requestId };
}

/**
 * A tool use that was not permitted, as a `permission_denied` line, or an element of a result's `permission_denials`.
 */
function toDenialPrompt(denial: JsonValue): ConfirmationPrompt | undefined {
  if (isJsonObject(denial)) return toConfirmation('permission_denied', denial);
  const message = readText(denial);
  return message === null ? undefined : { ...toConfirmation('permission_denied', {}), message };
}

function toConfirmation(reason: ConfirmationPrompt['reason'], source: JsonObject): ConfirmationPrompt {
  return {
    kind: 'confirmation',
    reason,
    toolUseId: readText(source.tool_use_id),
    requestId: null,
    toolName: readText(source.tool_name),
    toolInput: source.tool_input ?? source.input ?? null,
    message: readText(source.decision_reason) ?? readText(source.message),
  };
}

function toQuestions(input: JsonValue): Question[] {
  const fields = readObject(input);
  const questions = Array.isArray(fields?.questions) ? fields.questions : [input];
  return questions.slice(0, MAX_QUESTIONS).map((question) => {
    const source = readObject(question);
    const options = Array.isArray(source?.options) ? source.options : [];
    return {
      question: readText(source?.question) ?? readText(question) ?? '',
      header: readText(source?.header),
      options: options.slice(0, MAX_OPTIONS).map((option) => ({
        label: readText(readObject(option)?.label) ?? readText(option) ?? '',
        description: readText(readObject(option)?.description),
      })),
      multiSelect: source?.multiSelect === true,
    };
  });
}
