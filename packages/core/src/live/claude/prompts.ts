import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import type { JsonObject, JsonValue } from '../../rows.ts';

export interface Question {
  question: string;
  header: string | null;
  options: { label: string; description: string | null }[];
  multiSelect: boolean;
}

export interface QuestionPrompt {
  kind: 'question';
  toolUseId: string | null;
  /** Names the request that an answer on the agent's stdin goes to, or null. */
  requestId: string | null;
  questions: Question[];
}

export interface ConfirmationPrompt {
  kind: 'confirmation';
  reason: 'permission_request' | 'plan_approval' | 'permission_denied';
  toolUseId: string | null;
  requestId: string | null;
  toolName: string | null;
  toolInput: JsonValue;
  /** The plan, or why the agent asks or was denied; or null. */
  message: string | null;
}

export type Prompt = QuestionPrompt | ConfirmationPrompt;

/** More than a person answers. */
const MAX_QUESTIONS = 20;
const MAX_OPTIONS = 50;

/** The prompt that a tool use is, if it is one: a question, or a plan to approve. */
export function toToolPrompt(
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

/** The prompt in a `control_request` line: the agent waits for leave to use a tool. */
export function toControlPrompt(line: JsonObject): Prompt | undefined {
  const request = readObject(line.request);
  if (request?.subtype !== 'can_use_tool') return undefined;
  const requestId = readText(line.request_id);
  const prompt = toConfirmation('permission_request', request);
  return toToolPrompt(prompt.toolUseId, prompt.toolName, prompt.toolInput, requestId) ?? { ...prompt, requestId };
}

/** A tool use that was not permitted: a `permission_denied` line, or an element of a result's `permission_denials`. */
export function toDenialPrompt(denial: JsonValue): ConfirmationPrompt | undefined {
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
