package lazuli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.exception.HttpResponseException;
import com.azure.storage.common.policy.RequestRetryOptions;
import com.azure.storage.common.policy.RetryPolicyType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.function.Executable;

/** What the suites share: the account, names that no other run uses, errors. Retries are off, so that a 5xx fails at once. */
final class Suite {
    static final String KEY = setting("LAZULI_KEY", "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==");
    static final String ACCOUNT = setting("LAZULI_ACCOUNT", "devstoreaccount1");
    static final RequestRetryOptions NO_RETRIES = new RequestRetryOptions(RetryPolicyType.FIXED, 1, 60, null, null, null);

    private Suite() {}

    static String setting(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null ? otherwise : value.replaceAll("/$", "");
    }

    /** The account's address for a service. Tests of a service that the server does not offer are skipped. */
    static String endpoint(String service, int port) {
        String address = setting("LAZULI_" + service.toUpperCase() + "_ENDPOINT", "http://127.0.0.1:" + port + "/devstoreaccount1");
        Assumptions.assumeFalse(address.isEmpty(), "the server does not offer this service");
        return address;
    }

    static String connectionString(String service, int port) {
        return "DefaultEndpointsProtocol=http;AccountName=" + ACCOUNT + ";AccountKey=" + KEY + ";" + service + "Endpoint=" + endpoint(service, port) + ";";
    }

    /** Skips a test of the second part of the blob service if LAZULI_SKIP names `part2`. */
    static void later() {
        Assumptions.assumeFalse(setting("LAZULI_SKIP", "").contains("part2"), "left out by LAZULI_SKIP");
    }

    static String unique(String prefix) {
        return prefix + UUID.randomUUID().toString().replace("-", "");
    }

    static OffsetDateTime soon() {
        return OffsetDateTime.now().plusHours(1);
    }

    /** The call must be rejected with this status and code. */
    static void rejected(int status, String code, Executable call) {
        HttpResponseException error = assertThrows(HttpResponseException.class, call);
        assertEquals(status, error.getResponse().getStatusCode(), error.toString());
        assertEquals(code, error.getResponse().getHeaders().getValue(com.azure.core.http.HttpHeaderName.fromString("x-ms-error-code")), error.toString());
    }

    static void denied(Executable call) {
        assertEquals(403, assertThrows(HttpResponseException.class, call).getResponse().getStatusCode());
    }

    static void eventually(BooleanSupplier condition) throws InterruptedException {
        for (long end = System.nanoTime() + 60_000_000_000L; !condition.getAsBoolean(); Thread.sleep(50)) {
            assertTrue(System.nanoTime() < end, "it did not happen in time");
        }
    }

    /** Every public method of the classes is called in one of the files; `createWithResponse` counts for `create`. */
    static void assertEveryMethodIsCalled(List<String> files, Set<String> elsewhere, Class<?>... types) throws IOException {
        StringBuilder source = new StringBuilder();
        for (String file : files) {
            source.append(Files.readString(Path.of(System.getenv("LAZULI_SOURCES"), file)));
        }
        List<String> missing = Arrays.stream(types).flatMap(type -> Arrays.stream(type.getMethods()).filter(method -> method.getDeclaringClass() != Object.class)
                .map(method -> method.getName().replace("WithResponse", ""))).distinct().sorted()
            .filter(name -> !elsewhere.contains(name) && !Pattern.compile("\\." + name + "(WithResponse)?\\(").matcher(source).find()).toList();
        assertEquals(List.of(), missing);
    }
}
