/* What both stand-in drivers share: recording calls as JSON lines, and reading their set-up from
 * the environment.
 *
 *   OFFLOADC_STANDIN_LOG   file that gets one JSON object a line for every recorded call
 *   OFFLOADC_STANDIN_FAIL  calls that fail: NAME=CODE[,NAME=CODE...]; NAME#3=CODE fails from the third call on
 */
#ifndef OFFLOADC_TESTS_RECORD_H
#define OFFLOADC_TESTS_RECORD_H

#include <stddef.h>
#include <stdint.h>

/* Starts the record of one call; the returned handle is this thread's until record_end. */
void record_begin(const char *call);
void record_number(const char *key, uint64_t value);
void record_text(const char *key, const char *value);
void record_bytes(const char *key, const void *bytes, size_t size); /* as hexadecimal digits */
void record_end(void);

/* The code that OFFLOADC_STANDIN_FAIL states for this call, else 0. Counts the calls. */
int injected_failure(const char *call);

/* The index-th word of a list separated by commas; 0 when there is none. */
int list_word(const char *list, unsigned index, char *word, size_t size);

#endif
