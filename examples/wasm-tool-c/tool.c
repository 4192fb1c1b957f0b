// A calculator: `calculate` evaluates an arithmetic expression.
#include "json.h"
#include "sandgate_tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const sandgate_definition sandgate_definitions[] = {{
    SANDGATE_STRING("calculate"),
    SANDGATE_STRING("Evaluates an arithmetic expression with + - * / ^ ( ), pi, e, and the functions sqrt, exp, "
                    "ln, sin, cos, tan, abs and floor. ^ is right-associative and binds tighter than a leading sign."),
    SANDGATE_STRING("{\"type\":\"object\",\"properties\":{\"expression\":{\"type\":\"string\",\"maxLength\":10000}},"
                    "\"required\":[\"expression\"],\"additionalProperties\":false}"),
}};
const size_t sandgate_definition_count = 1;

#define MAX_DEPTH 200

/// The state of an evaluation, which stops at the first problem.
typedef struct {
  const char *start;
  const char *at;
  const char *problem;
  int depth;
  int operations;
} evaluation;

static double sum(evaluation *e);

static double fail(evaluation *e, const char *problem) {
  if (e->problem == NULL) e->problem = problem;
  return NAN;
}

/// Skips spaces and returns the next character; 0 at the end and after a problem.
static char next(evaluation *e) {
  if (e->problem != NULL) return 0;
  while (*e->at == ' ') e->at++;
  return *e->at;
}

static bool take(evaluation *e, char c) {
  if (next(e) != c) return false;
  e->at++;
  return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static double number(evaluation *e) {
  // strtod alone would also accept hexadecimal numbers, infinities and a sign.
  size_t length = strspn(e->at, "0123456789.");
  const char *rest = e->at + length;
  if (*rest == 'e' || *rest == 'E') {
    size_t sign = rest[1] == '+' || rest[1] == '-';
    if (is_digit(rest[1 + sign])) length += 1 + sign + strspn(rest + 1 + sign, "0123456789");
  }
  char *end;
  double value = strtod(e->at, &end);
  if (end != e->at + length) return fail(e, "expected a number");
  e->at = end;
  return value;
}

static double parenthesised(evaluation *e) {
  double value = sum(e);
  return take(e, ')') || e->problem != NULL ? value : fail(e, "expected ')'");
}

static const struct {
  const char *name;
  double (*function)(double);
} functions[] = {{"sqrt", sqrt}, {"exp", exp}, {"ln", log},   {"sin", sin},
                 {"cos", cos},   {"tan", tan}, {"abs", fabs}, {"floor", floor}};

static double named(evaluation *e) {
  sandgate_string name = {e->at, strspn(e->at, "abcdefghijklmnopqrstuvwxyz")};
  if (sandgate_equal(name, SANDGATE_STRING("pi"))) return e->at += name.length, M_PI;
  if (sandgate_equal(name, SANDGATE_STRING("e"))) return e->at += name.length, M_E;
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (!sandgate_equal(name, (sandgate_string){functions[i].name, strlen(functions[i].name)})) continue;
    e->at += name.length;
    if (!take(e, '(')) return fail(e, "expected '('");
    e->operations++;
    return functions[i].function(parenthesised(e));
  }
  return fail(e, "expected a number, a function or '('");
}

static double primary(evaluation *e) {
  if (take(e, '(')) return parenthesised(e);
  char c = next(e);
  return is_digit(c) || c == '.' ? number(e) : named(e);
}

static double signed_power(evaluation *e) {
  // Every recursion passes through this function.
  if (++e->depth > MAX_DEPTH) return fail(e, "the expression is nested too deeply");
  double value;
  if (take(e, '-')) {
    value = -signed_power(e);
  } else {
    value = primary(e);
    if (take(e, '^')) e->operations++, value = pow(value, signed_power(e));
  }
  e->depth--;
  return value;
}

static double product(evaluation *e) {
  double value = signed_power(e);
  for (;; e->operations++) {
    if (take(e, '*')) value *= signed_power(e);
    else if (take(e, '/')) value /= signed_power(e);
    else return value;
  }
}

static double sum(evaluation *e) {
  double value = product(e);
  for (;; e->operations++) {
    if (take(e, '+')) value += product(e);
    else if (take(e, '-')) value -= product(e);
    else return value;
  }
}

/// Returns the shortest decimal that parses to the same number.
static sandgate_string to_json(double value) {
  for (int digits = 15;; digits++) {
    sandgate_string text = sandgate_format("%.*g", digits, value);
    if (digits == 17 || strtod(text.bytes, NULL) == value) return text;
  }
}

static sandgate_result calculate(sandgate_string expression) {
  // A null-terminated copy, for strtod. A null character inside the expression ends it early; it is reported below.
  sandgate_string copy = sandgate_format("%.*s", (int)expression.length, expression.bytes);
  evaluation e = {.start = copy.bytes, .at = copy.bytes};
  double value = sum(&e);
  if (next(&e) != 0 || (size_t)(e.at - e.start) != expression.length) fail(&e, "expected an operator");
  if (e.problem != NULL) {
    return sandgate_error(SANDGATE_INVALID_INPUT,
                          sandgate_format("position %d: %s", (int)(e.at - e.start) + 1, e.problem));
  }
  sandgate_log(SANDGATE_INFO, sandgate_format("operations: %d", e.operations));
  if (!isfinite(value)) {
    return sandgate_error(SANDGATE_INVALID_INPUT, SANDGATE_STRING("the result is not a finite number"));
  }
  return sandgate_ok(to_json(value));
}

sandgate_result sandgate_call(sandgate_string tool, sandgate_string input, const sandgate_context *context) {
  (void)context;
  sandgate_string expression;
  if (!sandgate_equal(tool, sandgate_definitions[0].name)) {
    return sandgate_error(SANDGATE_NOT_FOUND, SANDGATE_STRING("there is no such tool"));
  }
  if (!json_string_member(input, "expression", &expression)) {
    return sandgate_error(SANDGATE_INVALID_INPUT, SANDGATE_STRING("the input must be { expression: string }"));
  }
  return calculate(expression);
}
