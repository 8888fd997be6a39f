import { z } from 'zod';
import { countField, sessionIdField, transcriptIdField } from './fields.ts';

/** Number of files whose changes are listed individually. */
export const MAX_CHANGED_FILES = 200;

const changeFields = {
  edits: countField.describe('Calls of tools that edit or write files, and did not fail'),
  lines_added: countField,
  lines_removed: countField,
};

export const sessionChangesSchema = z
  .object({
    session_id: sessionIdField,
    transcript_id: transcriptIdField.describe('Whose calls these are'),
    ...changeFields,
    files: countField.describe('Different paths that they name'),
    whole_file_edits: countField.describe(
      'Edits that write a whole file. All of its lines count as added, because the call does not say which it replaces',
    ),
    unknown_edits: countField.describe(
      'Edits whose lines are not counted, as the row has only the beginning of the input, or its form is not known',
    ),
    by_file: z
      .array(z.object({ file_path: z.string().nullable().describe('Null if the call names none'), ...changeFields }))
      .describe(`Most lines first; at most ${MAX_CHANGED_FILES}`),
    is_cut: z
      .boolean()
      .describe(
        'Whether the paths are too long to keep them all, more than 8 MiB together. `files` counts the first ones, and `by_file` has the changes of the others as one without a path',
      ),
  })
  .meta({
    id: 'SessionChanges',
    description:
      'What a session changed in files, by the inputs of its edits. Later edits of the same lines count again, a line moved within one edit does not, and one that replaces a text everywhere counts once. Changes by shell commands and by sub-agents with separate transcripts are not included',
  });

export type SessionChanges = z.infer<typeof sessionChangesSchema>;
