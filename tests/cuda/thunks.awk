# From the kernels to C: their text, then call_NAME(arguments) for each, which takes its arguments as
# the driver gets them, and the table `kernels` of them.
{ print }
/^KERNEL / { head = ""; open = 1 }
open {
    head = head " " $0
    if (index($0, ")")) { heads[++count] = head; open = 0 }
}
END {
    for (k = 1; k <= count; k++) {
        head = heads[k]
        sub(/^ *KERNEL /, "", head)
        name = head; sub(/\(.*/, "", name)
        sub(/^[^(]*\(/, "", head); sub(/\).*/, "", head)
        parameters = split(head, parameter, ",")
        printf "static void call_%s(void **a)\n{\n    %s(", name, name
        for (i = 1; i <= parameters; i++) {
            type = parameter[i]
            sub(/[a-z_]+ *$/, "", type)
            printf("%s*(%s *)a[%d]", (i > 1 ? ", " : ""), type, i - 1)
        }
        print ");\n}"
        names[k] = name
    }
    print "static const struct {\n    const char *name;\n    void (*call)(void **arguments);\n} kernels[] = {"
    for (k = 1; k <= count; k++)
        printf "    {\"%s\", call_%s},\n", names[k], names[k]
    print "};"
}
