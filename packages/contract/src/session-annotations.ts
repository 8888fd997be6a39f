import { z } from 'zod';
import { countField, singleLine, text } from './fields.ts';

const MAX_GIVEN_TITLE_LENGTH = 120;
const MAX_TAG_LENGTH = 50;
const MAX_TAGS_OF_SESSION = 20;
const MAX_NOTE_LENGTH = 4000;
/** Tags that `GET /v1/session-tags` lists. */
export const MAX_LISTED_TAGS = 1000;

/** A tag in requests. */
export const tagText = singleLine(MAX_TAG_LENGTH);

export const annotationFields = {
  given_title: z.string().nullable().describe('Title that a person gave it, which `title` then is; null if none'),
  is_starred: z.boolean().describe('Whether a person has starred it'),
  tags: z.array(z.string()).describe('Tags that people gave it, in alphabetical order'),
  note: z.string().nullable().describe('Note that a person wrote about it; null if none'),
};

export const annotationChangeSchema = z
  .strictObject({
    given_title: singleLine(MAX_GIVEN_TITLE_LENGTH)
      .nullable()
      .describe(`Shown as its title, at most ${MAX_GIVEN_TITLE_LENGTH} characters; null: the agent’s own again`),
    is_starred: z.boolean(),
    tags: z
      .array(tagText)
      .max(MAX_TAGS_OF_SESSION)
      .describe(`All its tags, at most ${MAX_TAGS_OF_SESSION} of ${MAX_TAG_LENGTH} characters`),
    note: text(MAX_NOTE_LENGTH).nullable().describe(`At most ${MAX_NOTE_LENGTH} characters; null removes it`),
  })
  .partial()
  .refine((change) => Object.keys(change).length > 0, 'Nothing to change')
  .meta({ id: 'SessionAnnotationChange', description: 'Fields that are left out stay as they are' });

export type AnnotationChange = z.infer<typeof annotationChangeSchema>;

export const annotationSchema = z
  .object(annotationFields)
  .meta({ id: 'SessionAnnotation', description: 'What people gave to a session' });

export type SessionAnnotation = z.infer<typeof annotationSchema>;

export const sessionTagListSchema = z
  .object({ tags: z.array(z.object({ tag: z.string(), sessions: countField })) })
  .meta({ id: 'SessionTagList', description: 'Tags in use, the most frequent first' });

export type SessionTagList = z.infer<typeof sessionTagListSchema>;
