CREATE INDEX "sessions_agent" ON "recount"."sessions" USING btree ("workspace_id","agent");--> statement-breakpoint
CREATE INDEX "sessions_models" ON "recount"."sessions" USING btree ("workspace_id",hash_array_extended("models", 0));--> statement-breakpoint
CREATE INDEX "transcripts_raw_size" ON "recount"."transcripts" USING btree ("workspace_id","size_bytes") WHERE raw_deleted_at IS NULL;--> statement-breakpoint
CREATE INDEX "usage_day_rollup_model" ON "recount"."usage_day_rollup" USING btree ("workspace_id","model");--> statement-breakpoint
CREATE INDEX "usage_day_rollup_branch" ON "recount"."usage_day_rollup" USING btree ("workspace_id","git_branch");